import type { Clock } from "../../../kernel/clock.ts"
import type { Finding } from "../finding.ts"

/** Checks that take less time than this print no progress. */
const progressDelayMs = 2000

export type Progress = {
  readonly clock: Clock
  /** Prints a progress line for the user. */
  readonly tell: (line: string) => void
}

/** Runs a check, prints progress while it takes long, and records its duration. */
export async function runTimed(
  { clock, tell: printProgress }: Progress,
  description: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const began = clock.now()
  const seconds = () => Math.round((clock.now() - began) / 1000)
  const round = () => {
    printProgress(`  ${description} … ${seconds()} s`)
    timer = clock.after(progressDelayMs, round)
  }
  let timer = clock.after(progressDelayMs, round)
  try {
    const findings = await check()
    const ms = clock.now() - began
    return findings.map((finding, at) => (at === 0 ? { ...finding, ms } : finding))
  } finally {
    timer.stop()
  }
}
