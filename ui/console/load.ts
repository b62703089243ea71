import { useEffect, useState } from "react"
import { isDenied, messageOf } from "./core.ts"

export type Loaded<Value> =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly message: string; readonly denied: boolean }
  | { readonly status: "ready"; readonly value: Value }

type Held<Value> = { readonly key: string; readonly loaded: Loaded<Value> }

/**
 * Reads something whenever `key` changes. While the next answer is on its way, the last one of the
 * same `about` stays, so that nothing jumps. `reload` reads again after a change.
 */
export function useLoad<Value>(
  about: string,
  key: string,
  read: (signal: AbortSignal) => Promise<Value>,
): Loaded<Value> & { readonly reload: () => void } {
  const [held, setHeld] = useState<Held<Value>>({ key: about, loaded: { status: "loading" } })
  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` and `round` say when to read
  useEffect(() => {
    const abort = new AbortController()
    const hold = (loaded: Loaded<Value>) => {
      if (!abort.signal.aborted) setHeld({ key: about, loaded })
    }
    read(abort.signal).then(
      (value) => hold({ status: "ready", value }),
      (failure) =>
        hold({ status: "failed", message: messageOf(failure), denied: isDenied(failure) }),
    )
    return () => abort.abort()
  }, [about, key, round])
  const loaded: Loaded<Value> = held.key === about ? held.loaded : { status: "loading" }
  return { ...loaded, reload: () => setRound(round + 1) }
}

export type Action = ActionWith<[]>

export type ActionWith<Given extends readonly unknown[]> = {
  readonly run: (...given: Given) => void
  readonly busy: boolean
  /** The server's words when it refused, to be shown beside what was tried. */
  readonly error: string | undefined
}

/** Something that changes the server, at most once at a time. */
export function useAction(act: () => Promise<unknown>): Action {
  const { run, ...state } = useActionWith(act)
  return { ...state, run: () => run() }
}

/** The same, for what depends on a choice that is made by running it. */
export function useActionWith<Given extends readonly unknown[]>(
  act: (...given: Given) => Promise<unknown>,
): ActionWith<Given> {
  const [state, setState] = useState<{ busy: boolean; error?: string }>({ busy: false })
  const run = (...given: Given) => {
    if (state.busy) return
    setState({ busy: true })
    act(...given).then(
      () => setState({ busy: false }),
      (failure) => setState({ busy: false, error: messageOf(failure) }),
    )
  }
  return { run, busy: state.busy, error: state.error }
}

/** A value that follows another one only after it has rested; for typing into a search. */
export function useRested<Value>(value: Value, ms: number): Value {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}
