import type { Prompt } from "../../domain/grant/index.ts"
import { parseRequestUri, takePushedRequest } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"

/** A sign-in test that an administrator started; see `startTestSignIn`. */
export type SignInTest = { readonly testedBy: string; readonly prompts: readonly Prompt[] }

/** Uses a test of an application, once; undefined if it does not exist or was used. */
export async function takeTest(
  cx: Cx,
  uri: string,
  appId: string,
): Promise<SignInTest | undefined> {
  const id = parseRequestUri(cx, uri)
  if (id === undefined) return undefined
  const { value: taken } = await cx.store.transact(cx, (tx) => takePushedRequest(tx, id, appId))
  if ("over" in taken || taken.testedBy === undefined) return undefined
  const isChoosing = new URLSearchParams(taken.search).get("prompt") === "select_account"
  return { testedBy: taken.testedBy, prompts: isChoosing ? ["select_account"] : [] }
}
