import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { Code, ConnectError } from "@connectrpc/connect"
import { callUnaryMethod, createQueryOptions } from "@connectrpc/connect-query"
import { QueryClient, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { shownPosition, structuralSharing, useShown } from "./position.ts"
import { isDenied, isStale, type Refusal, refusalOf } from "./refusal.ts"
import { transport } from "./transport.ts"

/** How long an answer is taken for the present state where nobody has changed anything here. */
const freshMs = 10_000

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: freshMs,
      // What was refused stays refused; what could not be asked waits for the server.
      retry: (count, failure) => count < 3 && ConnectError.from(failure).code === Code.Unavailable,
    },
    // A form says at once that the server is away; nothing is sent later behind a person's back.
    mutations: { networkMode: "always" },
  },
})

type CallArguments<I extends DescMessage, O extends DescMessage> = readonly [
  method: DescMethodUnary<I, O>,
  input?: MessageInitShape<I>,
  options?: { readonly within?: string },
]

/** Some older operations mean the organisation that a header names. */
export const within = (organizationId: string | undefined) =>
  organizationId ? { headers: { "x-core-orgid": organizationId } } : {}

/**
 * What an operation answers. Suspends until it is there, and hands a refusal to the nearest
 * boundary. Whatever is changed anywhere in the console is read again by itself.
 */
export function useRead<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
): MessageShape<O> {
  const { data } = useSuspenseQuery(queryOf(method, input, options))
  useShown(data)
  return data
}

/** How an operation is read, for the hooks of queries; who shows it registers that it does. */
export function queryOf<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
) {
  const query = createQueryOptions(method, input, { transport, ...within(options?.within) })
  return { ...query, structuralSharing: structuralSharing(method.output) }
}

/** The same; undefined where the person may not see it. */
export function useReadIfAllowed<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
): MessageShape<O> | undefined {
  const { queryKey, structuralSharing } = queryOf(method, input, options)
  const { data } = useSuspenseQuery({
    queryKey: [...queryKey, "if allowed"],
    structuralSharing,
    queryFn: ({ signal }) =>
      callUnaryMethod(transport, method, input, { signal, ...within(options?.within) }).catch(
        (failure) => {
          if (isDenied(refusalOf(failure))) return null
          throw failure
        },
      ),
  })
  useShown(data)
  return data ?? undefined
}

/**
 * Calls one operation, outside of what a page shows. An operation that checks whether the thing has
 * changed since it was read is sent the position of the page.
 */
export type Call = <I extends DescMessage, O extends DescMessage>(
  ...asked: CallArguments<I, O>
) => Promise<MessageShape<O>>

export const call: Call = (method, input, options) =>
  callUnaryMethod(transport, method, versioned(method, input), within(options?.within))

const versionField = "expectedVersion"

function versioned<I extends DescMessage>(
  method: DescMethodUnary<I, DescMessage>,
  input: MessageInitShape<I> | undefined,
): MessageInitShape<I> | undefined {
  const position = shownPosition()
  const field = method.input.field[versionField]
  if (position === undefined || !field) return input
  const message = create(method.input, input)
  reflect(method.input, message).set(field, position)
  return message
}

export type Action<Arguments extends readonly unknown[] = []> = {
  readonly run: (...given: Arguments) => void
  readonly busy: boolean
  /** Why the server refused, to be shown beside what was tried. */
  readonly refusal: Refusal | undefined
}

/**
 * How many times a change is sent again after somebody else has changed the same thing, or after
 * an earlier call of the same change has.
 */
const againMax = 6

type Repeating = {
  /** The operation does not check the version, so the page is read again before it is sent. */
  readonly readFirst?: boolean | undefined
  /** Whether it is sent again by itself; else the user is shown that it was refused. */
  readonly mayRepeat?: boolean
}

/**
 * Something that changes the server, at most once at a time. What the page shows is read again
 * before `done` is called: whoever closes a form there closes it over what is true.
 *
 * Where the thing has changed since it was read, the page is read again and `act` is called once
 * more, as it was last rendered: it then changes what is there now.
 */
export function useAction<Answer, Arguments extends readonly unknown[] = []>(
  act: (...given: Arguments) => Promise<Answer>,
  done?: (answer: Answer) => unknown,
  { readFirst = false, mayRepeat = true }: Repeating = {},
): Action<Arguments> {
  const queries = useQueryClient()
  const latest = useRef({ act, mayRepeat })
  useLayoutEffect(() => {
    latest.current = { act, mayRepeat }
  }, [act, mayRepeat])
  const presence = usePresence()
  const readAgain = async () => {
    await queries.invalidateQueries()
    await drawn()
  }
  const actOn = async (given: Arguments) => {
    if (readFirst) await readAgain()
    for (let tries = 0; ; tries++) {
      try {
        return await latest.current.act(...given)
      } catch (failure) {
        if (tries === againMax || !isStale(refusalOf(failure))) throw failure
        await readAgain()
        await presence.shown()
        // Whoever has left the page can't see what would be changed.
        if (presence.isLeft() || !latest.current.mayRepeat) throw failure
      }
    }
  }
  const { mutate, isPending, error } = useMutation<Answer, Error, Arguments>({
    mutationFn: actOn,
    onSuccess: async (answer) => {
      await readAgain()
      await done?.(answer)
    },
  })
  const run = (...given: Arguments) => {
    if (!isPending) mutate(given)
  }
  const refusal = useMemo(() => (error ? refusalOf(error) : undefined), [error])
  return { run, busy: isPending, refusal }
}

/** How often it is looked whether what is hidden is shown again. */
const lookMs = 10

/**
 * Whether a component is on the page. React hides what waits for an answer, and then runs the
 * cleanups of layout effects; those of other effects only once it is gone.
 */
function usePresence() {
  const at = useRef({ isHidden: false, isLeft: false })
  useLayoutEffect(() => {
    const { current } = at
    current.isHidden = false
    return () => {
      current.isHidden = true
    }
  }, [])
  useEffect(() => {
    const { current } = at
    current.isLeft = false
    return () => {
      current.isLeft = true
    }
  }, [])
  return {
    isLeft: () => at.current.isLeft,
    /** Resolves once it is shown, or gone. */
    shown: async () => {
      while (at.current.isHidden && !at.current.isLeft) {
        await new Promise((resolve) => setTimeout(resolve, lookMs))
      }
    },
  }
}

/** Queries report what has arrived in a task of their own, which is queued by now. */
const drawn = () => new Promise((resolve) => setTimeout(resolve, 0))

/** Reads everything on the page again. */
export function useReload(): () => Promise<void> {
  const queries = useQueryClient()
  return useCallback(() => queries.invalidateQueries(), [queries])
}

/** A value that follows another one only after it has rested; for typing into a search. */
export function useDebounced<Value>(value: Value, ms: number): Value {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}
