import { setPriority } from "node:os"

/**
 * Has the thread that calls this step back for others: what answers people comes first on every
 * core. `nice` is 1 to 19, the highest steps back furthest. Only Linux counts priorities by thread;
 * elsewhere the same call would hold back the whole process, so there nothing is changed.
 */
export function stepBack(nice: number): void {
  if (process.platform === "linux") setPriority(nice)
}
