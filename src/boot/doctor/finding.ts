/** What one check has found, and where something is amiss what to do. */
export type Finding = {
  readonly check: string
  readonly state: "ok" | "warning" | "wrong"
  readonly said: string
  readonly remedy?: string
  /** How long it took, in ms; of what takes time. */
  readonly ms?: number
}

export const ok = (check: string, said: string): Finding => ({ check, state: "ok", said })

/** It works, and won't for ever or for everybody. */
export const warning = (check: string, said: string, remedy: string): Finding => ({
  check,
  state: "warning",
  said,
  remedy,
})

/** It does not work. */
export const wrong = (check: string, said: string, remedy: string): Finding => ({
  check,
  state: "wrong",
  said,
  remedy,
})

const marks = { ok: "ok      ", warning: "warning ", wrong: "WRONG   " } as const

/** A line for each, and below it what to do. */
export const findingsText = (findings: readonly Finding[]): string =>
  findings
    .map(({ check, state, said, remedy, ms }) => {
      const took = ms === undefined ? "" : ` (${(ms / 1000).toFixed(1)} s)`
      const line = `  ${marks[state]} ${check.padEnd(12)} ${said}${took}`
      return remedy ? `${line}\n${" ".repeat(24)}→ ${remedy}` : line
    })
    .join("\n")
