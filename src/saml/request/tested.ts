import type { Prompt } from "../../domain/grant/index.ts"
import { requestNamed, takePushedRequest } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"

/** A test of a sign-in that somebody has begun; see `startTestSignIn`. */
export type Test = { readonly testedBy: string; readonly prompts: readonly Prompt[] }

/** Takes a test of an application by its name, once; undefined where there is none, or no more. */
export async function takeTest(cx: Cx, uri: string, appId: string): Promise<Test | undefined> {
  const id = requestNamed(cx, uri)
  if (id === undefined) return undefined
  const { value: taken } = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, appId))
  if ("over" in taken || taken.testedBy === undefined) return undefined
  const isChoosing = new URLSearchParams(taken.search).get("prompt") === "select_account"
  return { testedBy: taken.testedBy, prompts: isChoosing ? ["select_account"] : [] }
}
