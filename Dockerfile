# One image for every role: the arguments name the command (`controller`, `sds`, `pool`, …). Build it with
#   docker build -t leafgate:0.1.0 .
# The last stage needs no shell and no npm, so that a base without either serves as well:
#   docker build --build-arg RUN_IMAGE=<registry>/distroless/cc-debian12 -t leafgate:0.1.0 .
# A test runs these steps in folders and starts what they make (test/integration/image.test.ts).
ARG BUILD_IMAGE=node:24.22.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /build
# the lock file alone decides about this layer; the local package that brings Node to a checkout is named in it
COPY package.json package-lock.json ./
COPY src/setup/node-runtime/package.json src/setup/node-runtime/package.json
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
RUN npm run build

FROM ${BUILD_IMAGE} AS packages
WORKDIR /packages
COPY package.json package-lock.json ./
COPY src/setup/node-runtime/package.json src/setup/node-runtime/package.json
# nothing that we ship has an install script; a package that gets one must not run it here unseen
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${RUN_IMAGE}
COPY --from=build /usr/local/bin/node /usr/local/bin/node
# what origins are verified with: the controller gives these roots to the gateways
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=packages /packages/node_modules ./node_modules
COPY --from=build /build/dist ./dist
# the number that distroless images call nonroot; a number, since a pod that must not run as root cannot judge a name
USER 65532:65532
# a small young generation halves what a live name costs (src/setup/start.mjs)
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=4", "/app/dist/main.js"]
CMD ["--help"]
