import { answerRequest, isPushedOver } from "../../domain/grant/index.ts"
import { type Answering, nextStep } from "../../login/index.ts"
import { goneSince } from "./client.ts"
import { allowedSession, isForCode } from "./complete.ts"

/** What the callback does of a request that nothing but a sign-in was missing for, at once. */
export const answering: Answering = {
  within: (cx, tx, { id, asked, wanted }, session) => {
    if (!isForCode(asked) || asked.testedBy !== undefined || goneSince(cx, asked)) return false
    const step = nextStep({ ...wanted, sessionId: session.id }, [session], tx.now)
    if (step.kind !== "done") return false
    // Answered meanwhile, in another window: the callback tells the person.
    if (isPushedOver(tx, asked)) return false
    if (!allowedSession(cx, tx, { id, asked, sessionId: session.id })) return false
    answerRequest(tx, id, session.id)
    return true
  },
}
