/** The result of one check and, if there is a problem, its remedy. */
export type Finding = {
  readonly check: string
  readonly state: "ok" | "warning" | "wrong"
  readonly said: string
  readonly remedy?: string
  /** How long the check took, in ms; only for slow checks. */
  readonly ms?: number
}

export const ok = (check: string, message: string): Finding => ({
  check,
  state: "ok",
  said: message,
})

/** Works, but not permanently or not for everyone. */
export const warning = (check: string, message: string, remedy: string): Finding => ({
  check,
  state: "warning",
  said: message,
  remedy,
})

/** Does not work. */
export const problem = (check: string, message: string, remedy: string): Finding => ({
  check,
  state: "wrong",
  said: message,
  remedy,
})

const marks = { ok: "ok      ", warning: "warning ", wrong: "WRONG   " } as const

/** One line per finding, with its remedy below. */
export const formatFindings = (findings: readonly Finding[]): string =>
  findings
    .map(({ check, state, said: message, remedy, ms }) => {
      const took = ms === undefined ? "" : ` (${(ms / 1000).toFixed(1)} s)`
      const line = `  ${marks[state]} ${check.padEnd(12)} ${message}${took}`
      return remedy ? `${line}\n${" ".repeat(24)}→ ${remedy}` : line
    })
    .join("\n")
