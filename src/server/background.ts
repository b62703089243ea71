import { type Reactor, type Reactors, runReactors } from "../store/index.ts"
import type { Base } from "./base.ts"

/** What a server does besides answering. */
export type Background = {
  readonly reactors: Reactors
  readonly stop: () => Promise<void>
}

/** Starts it; what can't go on makes the node not ready. */
export function startBackground(base: Base, reactors: readonly Reactor[]): Background {
  const running = runReactors(base.store, base.clock, reactors, (name, cause) =>
    base.broke(`the reactor ${name} can't go on`, cause),
  )
  return { reactors: running, stop: running.stop }
}
