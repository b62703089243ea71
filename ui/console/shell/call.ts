import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { callUnaryMethod, createQueryOptions, useSuspenseQuery } from "@connectrpc/connect-query"
import {
  QueryClient,
  useSuspenseQuery as useAnySuspenseQuery,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query"
import { useCallback, useEffect, useState } from "react"
import { isDenied, type Refusal, refusalOf } from "./refusal.ts"
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

type Asked<I extends DescMessage, O extends DescMessage> = readonly [
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
  ...[method, input, options]: Asked<I, O>
): MessageShape<O> {
  return useSuspenseQuery(method, input, { transport, ...within(options?.within) }).data
}

/** The same; undefined where the person may not see it. */
export function useReadIfAllowed<I extends DescMessage, O extends DescMessage>(
  ...[method, input, options]: Asked<I, O>
): MessageShape<O> | undefined {
  const wanted = createQueryOptions(method, input, { transport, ...within(options?.within) })
  const { data } = useAnySuspenseQuery({
    queryKey: [...wanted.queryKey, "if allowed"],
    queryFn: ({ signal }) =>
      callUnaryMethod(transport, method, input, { signal, ...within(options?.within) }).catch(
        (failure) => {
          if (isDenied(refusalOf(failure))) return null
          throw failure
        },
      ),
  })
  return data ?? undefined
}

/** Calls one operation, outside of what a page shows. */
export type Call = <I extends DescMessage, O extends DescMessage>(
  ...asked: Asked<I, O>
) => Promise<MessageShape<O>>

export const call: Call = (method, input, options) =>
  callUnaryMethod(transport, method, input, within(options?.within))

export type Action<Given extends readonly unknown[] = []> = {
  readonly run: (...given: Given) => void
  readonly busy: boolean
  /** Why the server refused, to be shown beside what was tried. */
  readonly refusal: Refusal | undefined
}

/**
 * Something that changes the server, at most once at a time. What the page shows is read again
 * before `done` is called: whoever closes a form there closes it over what is true.
 */
export function useAction<Answer, Given extends readonly unknown[] = []>(
  act: (...given: Given) => Promise<Answer>,
  done?: (answer: Answer) => unknown,
): Action<Given> {
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation<Answer, Error, Given>({
    mutationFn: (given) => act(...given),
    onSuccess: async (answer) => {
      await queries.invalidateQueries()
      await done?.(answer)
    },
  })
  const run = (...given: Given) => {
    if (!isPending) mutate(given)
  }
  return { run, busy: isPending, refusal: error ? refusalOf(error) : undefined }
}

/** Reads everything on the page again. */
export function useReload(): () => Promise<void> {
  const queries = useQueryClient()
  return useCallback(() => queries.invalidateQueries(), [queries])
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
