import { showTrouble } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { complete, type Ready } from "./complete.ts"
import { type Showing, send } from "./send.ts"
import { showTested } from "./tested.ts"

/** Answers a request whose person has done all that is asked of them; a test shows what it says. */
export async function respond(cx: Cx, showing: Showing, ready: Ready): Promise<Response> {
  const { show, cookies } = showing
  const expired = () => showTrouble(show, cx, { problem: "expired", cookies })
  if (ready.asked.testedBy !== undefined) {
    return (await showTested(cx, show, { ready, cookies })) ?? expired()
  }
  const way = await complete(cx, ready)
  return way ? send(cx, way, showing) : expired()
}
