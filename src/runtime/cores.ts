import { availableParallelism } from "node:os"

let processes = 1

/** So many processes of ours share the machine's cores from now on. */
export function shareCores(count: number): void {
  processes = count
}

/** The cores that this process may keep busy by itself. */
export const ownCores = (): number => Math.max(1, Math.ceil(availableParallelism() / processes))
