import type { Requested } from "../domain/grant/index.ts"
import type { Answering } from "../login/index.ts"
import { answering as oauthAnswering, onward as oauthOnward } from "../oauth/index.ts"
import { onwardTo } from "./path.ts"

/** How requests are answered that somebody had to sign in for, whichever protocol they came by. */
export const answering: Answering = {
  // A response is signed off the event loop, which no step waits for: the callback answers it.
  within: (cx, tx, waiting, session) =>
    waiting.asked.saml === undefined && oauthAnswering.within(cx, tx, waiting, session),
}

/** Where a request goes on when the login pages have done their part. */
export const onward = ({
  id,
  asked,
}: {
  readonly id: string
  readonly asked: Requested
}): string => (asked.saml ? onwardTo(id) : oauthOnward(id))
