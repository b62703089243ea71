import type { Requested } from "../domain/grant/index.ts"
import { type Answering, askedName, showTrouble } from "../login/index.ts"
import { answering as oauthAnswering, onward as oauthOnward } from "../oauth/index.ts"
import { shownFor } from "./endpoint/sso.ts"
import { onwardTo } from "./path.ts"
import { isGone } from "./request/back.ts"
import { finish } from "./response/finish.ts"

/** How requests are answered that somebody had to sign in for, whichever protocol they came by. */
export const answering: Answering = {
  // A response is signed off the event loop, which no step waits for: the callback answers it.
  within: (cx, tx, waiting, session) =>
    waiting.asked.saml === undefined && oauthAnswering.within(cx, tx, waiting, session),
  tell: oauthAnswering.tell,
  again: async (loginContext, answered, setCookie) => {
    const { asked, sessionId } = answered
    if (!asked.saml) return oauthAnswering.again(loginContext, answered, setCookie)
    const { cx } = loginContext
    const show = shownFor(loginContext.show, asked)
    const cookies = [setCookie]
    if (await isGone(cx, asked)) {
      return showTrouble(show, cx, { problem: "unknown_application", cookies })
    }
    return finish(cx, { show, application: askedName(cx, asked), cookies }, { asked, sessionId })
  },
}

/** Where a request goes on when the login pages have done their part. */
export const onward = ({
  id,
  asked,
}: {
  readonly id: string
  readonly asked: Requested
}): string => (asked.saml ? onwardTo(id) : oauthOnward(id))
