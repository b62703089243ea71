import type { Draft } from "../../store/index.ts"
import {
  byOrganization,
  hasOwnCredential,
  type InviteMail,
  isAbsent,
  type User,
  type UserEvent,
} from "../user-model/index.ts"
import type { NewCode } from "./code.ts"

/**
 * Events that renew the invitation of a user who requests a password reset without having chosen a
 * password. Returns no events if the user has another way to sign in.
 */
export function renewInvite(state: User, code: NewCode): readonly Draft<UserEvent>[] {
  if (isAbsent(state) || state.kind !== "human" || !state.invite || hasOwnCredential(state))
    return []
  const { invite } = state
  const verifier = invite.verifier ?? byOrganization
  return [inviteAddedEvent(invite.urlTemplate === "" ? code : { ...code, verifier }, invite)]
}

/** The event of a new invitation code; it erases the previous code. */
export function inviteAddedEvent(
  code: NewCode,
  { urlTemplate, applicationName, isOfInstance }: InviteMail,
) {
  const { sealed, expires, returned, verifier } = code
  const added: Draft<UserEvent> = {
    type: "user.human.invite.code.added",
    data: {
      expires,
      returned,
      urlTemplate,
      applicationName,
      ...(verifier && { verifier }),
      ...(isOfInstance && { isOfInstance }),
    },
    private: { sealed },
    erase: { types: ["user.human.invite.code.added"] },
  }
  return added
}
