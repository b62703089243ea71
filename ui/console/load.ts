import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { isDenied, messageOf } from "./core.ts"

export type Loaded<Value> =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly message: string; readonly denied: boolean }
  | { readonly status: "ready"; readonly value: Value }

type Held<Value> = { readonly key: string; readonly loaded: Loaded<Value> }

/** Reads again after a change; comes back once what is shown is what was read. */
export type Changed = () => Promise<void>

/**
 * Reads something whenever `key` changes. While the next answer is on its way, the last one of the
 * same `about` stays, so that nothing jumps. `reload` reads again after a change, and comes back
 * when the answer is held, also if it is a failure: whoever waits for it closes no form over values
 * that are no longer true.
 */
export function useLoad<Value>(
  about: string,
  key: string,
  read: (signal: AbortSignal) => Promise<Value>,
): Loaded<Value> & { readonly reload: Changed } {
  const [held, setHeld] = useState<Held<Value>>({ key: about, loaded: { status: "loading" } })
  const { round, reload, arrived } = useRounds()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` and `round` say when to read
  useEffect(() => {
    const abort = new AbortController()
    const hold = (loaded: Loaded<Value>) => {
      if (abort.signal.aborted) return
      setHeld({ key: about, loaded })
      arrived(round)
    }
    read(abort.signal).then(
      (value) => hold({ status: "ready", value }),
      (failure) =>
        hold({ status: "failed", message: messageOf(failure), denied: isDenied(failure) }),
    )
    return () => abort.abort()
  }, [about, key, round])
  const loaded: Loaded<Value> = held.key === about ? held.loaded : { status: "loading" }
  return { ...loaded, reload }
}

type Waiting = { readonly round: number; readonly resolve: () => void }

/** Counts the readings that were asked for, and tells those who wait when theirs has arrived. */
function useRounds() {
  const [round, setRound] = useState(0)
  const asked = useRef(0)
  const waiting = useRef<readonly Waiting[]>([])
  const arrived = useCallback((upTo: number) => {
    const met = waiting.current.filter((one) => one.round <= upTo)
    waiting.current = waiting.current.filter((one) => one.round > upTo)
    for (const { resolve } of met) resolve()
  }, [])
  const shown = useRef(true)
  const reload = useCallback(async () => {
    // What has left the page reads nothing any more.
    if (!shown.current) return
    asked.current += 1
    setRound(asked.current)
    await new Promise<void>((resolve) => {
      waiting.current = [...waiting.current, { round: asked.current, resolve }]
    })
  }, [])
  useEffect(() => {
    shown.current = true
    return () => {
      shown.current = false
      arrived(asked.current)
    }
  }, [arrived])
  return { round, reload, arrived }
}

/** Reads something again whenever the others are. */
export function useJoined(readings: Readings | undefined, reload: Changed): void {
  useEffect(() => readings?.join(reload), [readings, reload])
}

/** What one change concerns, wherever it stands on the page. */
export type Readings = {
  readonly reload: Changed
  /** Answers what takes it out again. */
  readonly join: (reload: Changed) => () => void
}

/** Several readings that are made again together. */
export function useReadings(): Readings {
  const joined = useRef(new Set<Changed>())
  const reload = useCallback(async () => {
    await Promise.all([...joined.current].map((one) => one()))
  }, [])
  const join = useCallback((one: Changed) => {
    joined.current.add(one)
    return () => {
      joined.current.delete(one)
    }
  }, [])
  return useMemo(() => ({ reload, join }), [reload, join])
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
