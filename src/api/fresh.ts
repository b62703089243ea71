import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { Access as AccessOption } from "../gen/core/options_pb.ts"
import type { Call } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { freshSeconds, isFreshSignIn } from "../protocol/freshness.ts"
import { nameOf } from "./method.ts"
import { isChange, type Rank } from "./rank.ts"

/**
 * Whether a rule asks for a sign-in that is recent. Refuses, naming the method: a reading, and what
 * is not about a user.
 */
export function freshOf(method: DescMethod, option: AccessOption): boolean {
  const { fresh, authenticated, resource, id, or } = option
  if (fresh && !isChange(method)) {
    throw new Error(`${nameOf(method)}: it changes nothing, so it asks for no fresh sign-in`)
  }
  const isOfUsers = authenticated !== "" || resource === "user" || id === "@home"
  if (fresh && (!isOfUsers || or)) {
    throw new Error(`${nameOf(method)}: a fresh sign-in is asked of who acts on themself, a user`)
  }
  return fresh
}

/**
 * RFC 9470 §3: faults where the caller's sign-in is too old. Who acts without a sign-in, a program
 * with its key or token, has none that could be; who shows in the request their password, or the
 * code that was sent to them, proves it with that.
 */
export function mustBeFresh(
  { caller, clock }: Pick<Call, "caller" | "clock">,
  rank: Rank | undefined,
  request: Message,
): void {
  if (caller.kind !== "user" || caller.authTime === undefined) return
  if (rank?.isProven(request)) return
  const now = clock.now()
  const required = { mustSignIn: true, since: now - freshSeconds * 1000 }
  if (isFreshSignIn({ localAt: caller.authTime }, required, now)) return
  throw new Fault(
    "unauthenticated",
    "session.sign_in_too_old",
    "this changes how you sign in; sign in again (max_age), and repeat it within a quarter of an " +
      "hour with a token of that sign-in",
    { maxAgeSeconds: freshSeconds },
  )
}
