import type { Aggregate, AnyEvent, Cx, Decision, Draft, Receipt } from "../../store/index.ts"

/** Which event removes the thing that `input` names; undefined where there is nothing to remove. */
type Decide<E extends AnyEvent, State, Input> = (
  state: State,
  input: Input,
  tx: Decision,
  id: string,
) => Draft<E> | undefined

/**
 * Makes commands that remove one thing of a stream. Where there is nothing to remove they append
 * nothing and return undefined. `Input` is void for what a stream has only one of.
 */
export const removalFrom =
  <E extends AnyEvent, State>(kind: Aggregate<E, State>) =>
  <Input = void>(decide: Decide<E, State, Input>) =>
  async (cx: Cx, id: string, input: Input): Promise<Receipt | undefined> => {
    const step = await cx.store.transact(cx, (tx) => {
      const draft = decide(tx.state(kind, id), input, tx, id)
      if (draft) tx.append(kind, id, [draft])
      return draft !== undefined
    })
    return step.value ? step.receipt(kind, id) : undefined
  }
