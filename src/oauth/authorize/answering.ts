import { answerRequest, isPushedOver } from "../../domain/grant/index.ts"
import { type Answering, stepFor } from "../../login/index.ts"
import { goneSince } from "./client.ts"
import { allowedSession, isForCode } from "./complete.ts"

/** What the callback does of a request that nothing but a sign-in was missing for, at once. */
export const answering: Answering = {
  within: (cx, tx, waiting, session) => {
    const { id, asked } = waiting
    if (!isForCode(asked) || asked.testedBy !== undefined || goneSince(cx, asked)) return false
    const requirements = { ...waiting.requirements, sessionId: session.id }
    const step = stepFor(cx, { asked, requirements }, [session], tx.now)
    if (step.kind !== "done") return false
    // Answered meanwhile, in another window: the callback tells the person.
    if (isPushedOver(tx, asked)) return false
    if (!allowedSession(cx, tx, { id, asked, sessionId: session.id })) return false
    answerRequest(tx, id, session.id)
    return true
  },
}
