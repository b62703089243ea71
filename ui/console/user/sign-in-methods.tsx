import type { DescMessage, DescMethod, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import {
  type AuthFactor,
  type Passkey,
  type User,
  UserState,
} from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { actionColumn, type KeyDatesProps, Time } from "../list/index.ts"
import { call, Section, t, useRead } from "../shell/index.ts"
import { PasskeyLink } from "./invite.tsx"
import type { UserPart } from "./user.ts"

/** A sign-in method besides the password. */
type SignInMethod = {
  readonly id: string
  readonly kind: "passkey" | "u2f" | "otp" | "otp_sms" | "otp_email" | "recovery"
  /** The name given by the user; empty for kinds with only one. */
  readonly name: string
  /** Number of unused recovery codes. */
  readonly left?: number
  /** Dates of a key. */
  readonly dates?: KeyDatesProps
  /** The operation that removes it. */
  readonly needs: DescMethod
  readonly remove: () => Promise<unknown>
}

/** Sign-in methods of a user besides the password; administrators can remove lost ones. */
export function SignInMethods({ user }: UserPart) {
  const ways = useSignInMethods(user)
  const columns: readonly Column<SignInMethod>[] = [
    { label: t("field.kind"), cell: ({ kind }) => t(`ways.${kind}`) },
    { label: t("field.name"), cell: (signInMethod) => methodName(signInMethod) },
    { label: t("key.added"), cell: ({ dates }) => <Time at={dates?.added} /> },
    { label: t("key.used"), cell: ({ dates }) => dates && <LastUsed {...dates} /> },
    actionColumn(({ kind, name, needs, remove }) => (
      <ConfirmButton
        small
        needs={needs}
        subject={name || t(`ways.${kind}`)}
        consequence={t("ways.remove_text")}
        act={remove}
      />
    )),
  ]
  const title = t("ways.title")
  return (
    <Section title={title} actions={user.state === UserState.ACTIVE && <PasskeyLink user={user} />}>
      {ways.length === 0 ? (
        <p className="quiet section-lead">{t("ways.none")}</p>
      ) : (
        <Table caption={title} columns={columns} rows={ways} keyOf={({ id }) => id} />
      )}
    </Section>
  )
}

const methodName = ({ name, left }: SignInMethod) =>
  left === undefined ? name && <bdi>{name}</bdi> : t("account.recovery.left", { count: left })

function LastUsed({ used }: KeyDatesProps) {
  return used ? <Time at={used} /> : t("key.unused")
}

function useSignInMethods({ userId }: User): readonly SignInMethod[] {
  const { method } = UserService
  const passkeys = useRead(method.listPasskeys, { userId }).result
  const factors = useRead(method.listAuthenticationFactors, { userId }).result
  const { recoveryCodesLeft: left } = useRead(method.listAuthenticationMethodTypes, { userId })
  const codes = singleMethod("recovery", method.removeRecoveryCodes, { userId })
  return [
    ...passkeys.map(({ id, name, ...key }) => ({
      ...({ id, kind: "passkey", name, needs: method.removePasskey } as const),
      dates: toKeyDates(key),
      remove: () => call(method.removePasskey, { userId, passkeyId: id }),
    })),
    ...factors.flatMap(({ type }) => toSignInMethod(userId, type) ?? []),
    ...(left === undefined ? [] : [{ ...codes, left }]),
  ]
}

type KeyWithDates = Pick<Passkey, "creationDate" | "lastUsedDate">

const toKeyDates = ({
  creationDate: added,
  lastUsedDate: used,
}: Partial<KeyWithDates>): KeyDatesProps => ({
  added,
  used,
})

function toSignInMethod(
  userId: string,
  { case: kind, value }: AuthFactor["type"],
): SignInMethod | undefined {
  const { method } = UserService
  switch (kind) {
    case "u2f": {
      const remove = () => call(method.removeU2F, { userId, u2fId: value.id })
      const { id, name } = value
      return { id, kind, name, dates: toKeyDates(value), needs: method.removeU2F, remove }
    }
    case "otp":
      return singleMethod("otp", method.removeTOTP, { userId })
    case "otpSms":
      return singleMethod("otp_sms", method.removeOTPSMS, { userId })
    case "otpEmail":
      return singleMethod("otp_email", method.removeOTPEmail, { userId })
    default:
      return undefined
  }
}

/** A method that a user can have once. */
const singleMethod = <I extends DescMessage>(
  kind: SignInMethod["kind"],
  needs: DescMethodUnary<I>,
  of: MessageInitShape<I>,
): SignInMethod => ({ id: kind, kind, name: "", needs, remove: () => call(needs, of) })
