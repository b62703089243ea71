import type { Aggregate, AnyEvent, Cx, DecisionContext, Draft, Receipt } from "../../store/index.ts"

/** Returns the event that removes what `input` identifies, or undefined if it doesn't exist. */
type DecideRemoval<E extends AnyEvent, State, Input> = (
  state: State,
  input: Input,
  tx: DecisionContext,
  id: string,
) => Draft<E> | undefined

/**
 * Creates commands that remove something from a stream. If it doesn't exist, they append nothing
 * and return undefined. `Input` is void if a stream has only one.
 */
export const createRemoval =
  <E extends AnyEvent, State>(kind: Aggregate<E, State>) =>
  <Input = void>(decide: DecideRemoval<E, State, Input>) =>
  async (cx: Cx, id: string, input: Input): Promise<Receipt | undefined> => {
    const step = await cx.store.transact(cx, (tx) => {
      const draft = decide(tx.state(kind, id), input, tx, id)
      if (draft) tx.append(kind, id, [draft])
      return draft !== undefined
    })
    return step.value ? step.receipt(kind, id) : undefined
  }
