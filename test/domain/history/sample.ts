export type Sample = {
  readonly before: object
  readonly after: object
  /** What another event has made of it since; the same as `after` where none has. */
  readonly now?: object
}

/** `change` is laid over the first state. */
export const sample = <T extends object>(before: T, change: object): Sample => ({
  before,
  after: { ...before, ...change },
})
