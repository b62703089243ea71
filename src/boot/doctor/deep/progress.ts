import type { Clock } from "../../../kernel/clock.ts"
import type { Finding } from "../finding.ts"

/** What nobody waits for without being told is done in less. */
const quietMs = 2000

export type Progress = {
  readonly clock: Clock
  /** Gets a line for a person who waits. */
  readonly tell: (line: string) => void
}

/** Does a check, says that it is under way while that takes long, and notes how long it took. */
export async function timed(
  { clock, tell }: Progress,
  doing: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const began = clock.now()
  const seconds = () => Math.round((clock.now() - began) / 1000)
  const round = () => {
    tell(`  ${doing} … ${seconds()} s`)
    timer = clock.after(quietMs, round)
  }
  let timer = clock.after(quietMs, round)
  try {
    const findings = await check()
    const ms = clock.now() - began
    return findings.map((finding, at) => (at === 0 ? { ...finding, ms } : finding))
  } finally {
    timer.stop()
  }
}
