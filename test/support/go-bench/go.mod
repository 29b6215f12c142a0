module leafgate.test/peers/bench

go 1.26.0

require (
	github.com/elazarl/goproxy v1.9.4
	leafgate.test/peers v0.0.0
)

require (
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace leafgate.test/peers => ../go
