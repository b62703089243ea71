import type { Editor, Erasure, Event } from "../../store/index.ts"
import { noted, originIn } from "./origins.ts"
import type { Code, Email, Human, PasswordCode, Phone, ReturnedCode, User } from "./state.ts"
import {
  byOrganization,
  byUser,
  firstVerifier,
  isNobody,
  unknownVerifier,
  type VerifiedBy,
  type Verifier,
  verifierOf,
} from "./verifier.ts"

type CodeAdded<Type extends string> = Event<
  Type,
  {
    readonly expires: number
    readonly returned: boolean
    readonly urlTemplate: string
  } & VerifiedBy,
  { readonly sealed: string }
>

/** The email address and the phone number of a person, and the codes that verify them. */
export type ContactEvent =
  | Event<
      "user.human.email.changed",
      /** `isSuperseded`: the address is the same, and somebody else has proven it. */
      { readonly isSuperseded?: boolean },
      {
        readonly email: string
        /** The one until then, where its person had shown that it is theirs. */
        readonly before?: string
      }
    >
  | Event<"user.human.email.verified", VerifiedBy>
  | CodeAdded<"user.human.email.code.added">
  | Event<"user.human.phone.changed", Record<never, never>, { readonly phone: string }>
  | Event<"user.human.phone.verified", VerifiedBy>
  | CodeAdded<"user.human.phone.code.added">
  | Event<"user.human.phone.removed">

/** What the event of a new person says of both. */
export type FirstContacts = {
  readonly emailVerified: boolean
  readonly phoneVerified: boolean
  readonly emailVerifier?: Verifier
  readonly phoneVerifier?: Verifier
}

type Added = {
  readonly data: FirstContacts
  readonly private: { readonly email: string; readonly phone: string } | null
  readonly time: number
  readonly editor: Editor
}

/** The addresses that a person begins with. */
export function firstContacts({ data, private: secret, time, editor }: Added) {
  const { emailVerified, emailVerifier, phoneVerified, phoneVerifier } = data
  const phone: Phone = {
    number: secret?.phone ?? "",
    verified: phoneVerified,
    ...(phoneVerified && { verifier: phoneVerifier ?? unknownVerifier(editor) }),
  }
  const email: Email = {
    address: secret?.email ?? "",
    verified: emailVerified,
    ...(emailVerified && { verifier: firstVerifier(emailVerifier, editor) }),
    ...(emailVerified && emailVerifier?.by === "user" && { proven: time }),
  }
  return { email, phone: secret?.phone ? phone : null } as const
}

/**
 * The email address of a person who is linked to a provider. Earlier versions stored of who came
 * from one no more than the link that the account was made with.
 */
export function emailWithLink(
  { email }: Pick<Human, "email">,
  {
    data,
    editor,
  }: { readonly data: { idpId: string; isFirst?: boolean }; readonly editor: Editor },
): Email {
  const isRegistered = email.verifier?.by === "user" && email.proven === undefined
  if (!isRegistered || !data.isFirst || !isNobody(editor)) return email
  return { ...email, verifier: { by: "provider", idpId: data.idpId } }
}

type Of<Type extends ContactEvent["type"]> = Extract<ContactEvent, { type: Type }> & {
  readonly id: string
  readonly time: number
  readonly editor: Editor
  readonly erase?: Erasure | null
}

type Folds = {
  readonly [Type in ContactEvent["type"]]: (state: User, event: Omit<Of<Type>, "type">) => User
}

/** What these events make of a person; a part of the user's `evolve`. */
export const contactFolds: Folds = {
  "user.human.email.changed": (state, event) =>
    human(state, event, ({ passwordCode, returnedCodes, ...person }) => ({
      ...(!event.data.isSuperseded && noted(person, "email", { origin: originIn(person, event) })),
      email: {
        address: event.private?.email ?? "",
        verified: false,
        ...(event.data.isSuperseded && { isSuperseded: true }),
      },
      emailCode: null,
      // It would prove that somebody read what went to the address before.
      invite: undefined,
      passwordCode: codeBesides("email", passwordCode),
      ...(returnedCodes && { returnedCodes: returnedCodes.filter((of) => of === "phone") }),
    })),
  "user.human.email.verified": (state, event) =>
    human(state, event, ({ email: { address }, returnedCodes = [] }) => ({
      email: {
        address,
        verified: true,
        verifier: verifierOf(
          event,
          returnedCodes.some((of) => of !== "phone"),
        ),
        ...(event.data.verifier?.by === "user" && { proven: event.time }),
      },
      emailCode: null,
    })),
  "user.human.email.code.added": (state, event) =>
    human(state, event, ({ changed, returnedCodes }) => ({
      emailCode: codeOf(event),
      changed,
      ...returnedWith(returnedCodes, "email", event.data),
    })),
  "user.human.phone.changed": (state, event) =>
    human(state, event, ({ passwordCode, ...person }) => ({
      ...noted(person, "phone", { origin: originIn(person, event) }),
      phone: { number: event.private?.phone ?? "", verified: false },
      phoneCode: null,
      passwordCode: codeBesides("sms", passwordCode),
    })),
  "user.human.phone.verified": (state, event) =>
    human(state, event, ({ phone, returnedCodes = [] }) => ({
      phone: phone && {
        number: phone.number,
        verified: true,
        verifier: verifierOf(event, returnedCodes.includes("phone")),
      },
      phoneCode: null,
    })),
  "user.human.phone.code.added": (state, event) =>
    human(state, event, ({ changed, returnedCodes }) => ({
      phoneCode: codeOf(event),
      changed,
      ...returnedWith(returnedCodes, "phone", event.data),
    })),
  "user.human.phone.removed": (state, event) =>
    human(state, event, ({ passwordCode, ...person }) => ({
      ...noted(person, "phone"),
      phone: null,
      phoneCode: null,
      passwordCode: codeBesides("sms", passwordCode),
    })),
}

function human(
  state: User,
  { time }: { readonly time: number },
  change: (state: Human) => Partial<Human>,
): User {
  if (!("kind" in state) || state.kind !== "human") return state
  return { ...state, changed: time, ...change(state) }
}

/** What is left where an address changes: a code that went there would prove who reads it. */
const codeBesides = (channel: PasswordCode["channel"], code: Human["passwordCode"]) =>
  code?.channel === channel ? undefined : code

export type CodeData = { readonly expires: number } & VerifiedBy

/** Null once a newer code or the removal of the user has erased it. */
const codeOf = (event: {
  readonly data: CodeData
  readonly private: { readonly sealed: string } | null
}): Code | null => event.private && { sealed: event.private.sealed, ...codeData(event.data) }

/** What the event of a code says of it beside the code. */
export const codeData = ({ expires, verifier }: CodeData) => ({
  expires,
  ...(verifier && { verifier }),
})

/** Who verifies an address by the last code of a kind. */
export function verifierByCode(
  person: Pick<Human, "returnedCodes" | "emailCode" | "phoneCode" | "invite">,
  of: ReturnedCode,
): Verifier {
  const { emailCode, phoneCode, invite, returnedCodes = [] } = person
  const codes = { email: emailCode, phone: phoneCode, invite }
  return codes[of]?.verifier ?? (returnedCodes.includes(of) ? byOrganization : byUser)
}

/**
 * Remembers which codes the caller could read, also once they are erased: those that were returned,
 * and those of earlier versions that were sent with the caller's link.
 */
export function returnedWith(
  before: readonly ReturnedCode[] = [],
  of: ReturnedCode,
  { returned, urlTemplate, verifier }: CodeDelivery,
) {
  const others = before.filter((each) => each !== of)
  const isReadable = returned || (verifier === undefined && urlTemplate !== "")
  const returnedCodes = isReadable ? [...others, of] : others
  return before.length + returnedCodes.length === 0 ? {} : { returnedCodes }
}

type CodeDelivery = { readonly returned: boolean; readonly urlTemplate: string } & VerifiedBy
