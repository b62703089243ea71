import { availableParallelism } from "node:os"

let processCount = 1

/** Sets the number of our processes that share the machine's cores. */
export function setProcessCount(count: number): void {
  processCount = count
}

/** The number of cores that this process may keep busy. */
export const availableCores = (): number =>
  Math.max(1, Math.ceil(availableParallelism() / processCount))
