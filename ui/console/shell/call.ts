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
import { shownPosition, structuralSharing, useShownMessage } from "./position.ts"
import { isDenied, isStale, type Refusal, refusalOf } from "./refusal.ts"
import { transport } from "./transport.ts"

/** How long a response is considered current if nothing was changed here. */
const freshMs = 10_000

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: freshMs,
      // Rejected requests are not retried; network errors wait for the server.
      retry: (count, failure) => count < 3 && ConnectError.from(failure).code === Code.Unavailable,
    },
    // A form reports immediately if the server can't be reached; changes are never sent later in
    // the background.
    mutations: { networkMode: "always" },
  },
})

type CallArguments<I extends DescMessage, O extends DescMessage> = readonly [
  method: DescMethodUnary<I, O>,
  input?: MessageInitShape<I>,
  options?: { readonly within?: string },
]

/** Some older operations use the organization in a header. */
export const organizationHeader = (organizationId: string | undefined) =>
  organizationId ? { headers: { "x-core-orgid": organizationId } } : {}

/**
 * Calls a read operation. Suspends until the response, and throws errors to the nearest boundary.
 * Refetched after every change in the console.
 */
export function useRead<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
): MessageShape<O> {
  const { data } = useSuspenseQuery(createQueryOptionsFor(method, input, options))
  useShownMessage(data)
  return data
}

/** Query options of a read operation; the calling component must register as a reader. */
export function createQueryOptionsFor<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
) {
  const query = createQueryOptions(method, input, {
    transport,
    ...organizationHeader(options?.within),
  })
  return { ...query, structuralSharing: structuralSharing(method.output) }
}

/** Calls a read operation; undefined if the caller lacks permission. */
export function useReadIfAllowed<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: CallArguments<I, O>
): MessageShape<O> | undefined {
  const { queryKey, structuralSharing } = createQueryOptionsFor(method, input, options)
  const { data } = useSuspenseQuery({
    queryKey: [...queryKey, "if allowed"],
    structuralSharing,
    queryFn: ({ signal }) =>
      callUnaryMethod(transport, method, input, {
        signal,
        ...organizationHeader(options?.within),
      }).catch((failure) => {
        if (isDenied(refusalOf(failure))) return null
        throw failure
      }),
  })
  useShownMessage(data)
  return data ?? undefined
}

/**
 * Calls an operation outside of rendering. Operations that check for concurrent changes get the
 * position of the page.
 */
export type Call = <I extends DescMessage, O extends DescMessage>(
  ...callArguments: CallArguments<I, O>
) => Promise<MessageShape<O>>

export const call: Call = (method, input, options) =>
  callUnaryMethod(
    transport,
    method,
    withVersion(method, input),
    organizationHeader(options?.within),
  )

const versionField = "expectedVersion"

function withVersion<I extends DescMessage>(
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
  readonly run: (...args: Arguments) => void
  readonly busy: boolean
  /** The server's error, to be shown next to the button. */
  readonly refusal: Refusal | undefined
}

/**
 * How often a change is repeated after a conflict with another change of the same resource, or with
 * an earlier call of the same change.
 */
const attemptsMax = 6

type RepeatOptions = {
  /** Whether to reload the page first, because the operation doesn't check the version. */
  readonly readBeforeSave?: boolean | undefined
  /** Whether to repeat after a conflict; otherwise the user sees the error. */
  readonly canRepeat?: boolean
}

/**
 * A change on the server, one at a time. The page is reloaded before `done` is called, so that a
 * closing form reveals current data.
 * If the resource was changed concurrently, the page is reloaded and `act`, as last rendered, is
 * called again with the current data.
 */
export function useAction<Answer, Arguments extends readonly unknown[] = []>(
  act: (...args: Arguments) => Promise<Answer>,
  done?: (answer: Answer) => unknown,
  { readBeforeSave = false, canRepeat = true }: RepeatOptions = {},
): Action<Arguments> {
  const queries = useQueryClient()
  const latest = useRef({ act, mayRepeat: canRepeat })
  useLayoutEffect(() => {
    latest.current = { act, mayRepeat: canRepeat }
  }, [act, canRepeat])
  const presence = usePresence()
  const readAgain = async () => {
    await queries.invalidateQueries()
    await afterRender()
  }
  const actOn = async (args: Arguments) => {
    if (readBeforeSave) await readAgain()
    for (let tries = 0; ; tries++) {
      try {
        return await latest.current.act(...args)
      } catch (failure) {
        if (tries === attemptsMax || !isStale(refusalOf(failure))) throw failure
        await readAgain()
        await presence.shown()
        // Users who have left the page would not see what a repeated call changes.
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
  const run = (...args: Arguments) => {
    if (!isPending) mutate(args)
  }
  const refusal = useMemo(() => (error ? refusalOf(error) : undefined), [error])
  return { run, busy: isPending, refusal }
}

/** Polling interval for a hidden component to become visible again. */
const visibilityPollMs = 10

/**
 * Whether a component is on the page. React runs cleanups of layout effects when it hides a
 * suspended component, and those of other effects only on unmount.
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
    /** Resolves when the component is shown or unmounted. */
    shown: async () => {
      while (at.current.isHidden && !at.current.isLeft) {
        await new Promise((resolve) => setTimeout(resolve, visibilityPollMs))
      }
    },
  }
}

/** Query results are delivered in a separate task, which is queued by now. */
const afterRender = () => new Promise((resolve) => setTimeout(resolve, 0))

/** Reloads all data on the page. */
export function useReload(): () => Promise<void> {
  const queries = useQueryClient()
  return useCallback(() => queries.invalidateQueries(), [queries])
}

/** A value that follows another one after a pause; for search fields. */
export function useDebounced<Value>(value: Value, ms: number): Value {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}
