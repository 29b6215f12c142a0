// Every client of the matrix that a program can be started for; browsers stand beside them, since they are driven.
import type { Client } from './client.ts';
import { nodeClients } from './node-clients.ts';
import { packageManagers } from './package-managers.ts';
import { plainClients } from './plain-clients.ts';

export const allClients: readonly Client[] = [...plainClients, ...nodeClients, ...packageManagers];
