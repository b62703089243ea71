export type Sample = {
  readonly before: object
  readonly after: object
  /** The state after later events; defaults to `after`. */
  readonly now?: object
}

/** `change` is merged into the first state. */
export const sample = <T extends object>(before: T, change: object): Sample => ({
  before,
  after: { ...before, ...change },
})
