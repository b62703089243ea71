import type { HumanUser } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { call, t } from "../shell/index.ts"
import type { UserPart } from "./user.ts"

/** Email address and phone number of a user, with their verification state. */
export function Contact({ user }: UserPart) {
  const { type } = user
  if (type.case !== "human") return null
  const { email, phone } = type.value
  return (
    <EditSection
      needs={UserService.method.setEmail}
      title={t("contact.title")}
      rows={[
        [t("field.email"), <ContactFact key="email" address={email?.email} {...email} />],
        [t("field.phone"), <ContactFact key="phone" address={phone?.phone} {...phone} />],
      ]}
      form={contactForm(user.userId, type.value)}
    />
  )
}

type ContactFactProps = { readonly address: string | undefined; readonly isVerified?: boolean }

function ContactFact({ address: at, isVerified = false }: ContactFactProps) {
  if (!at) return <span className="quiet">{t("detail.none")}</span>
  return (
    <>
      <bdi>{at}</bdi>
      <Badge tone={isVerified ? "done" : "quiet"}>
        {t(isVerified ? "users.verified" : "users.not_verified")}
      </Badge>
    </>
  )
}

type ContactValues = {
  readonly email: string
  readonly phone: string
  readonly emailVerified: boolean
  readonly phoneVerified: boolean
}

/** Only calls operations for changed values, because each appears in the history. */
async function saveContacts(
  userId: string,
  { email: old, phone: before }: HumanUser,
  values: ContactValues,
) {
  const [email, phone] = [values.email.trim(), values.phone.trim()]
  const toVerification = (isVerified: boolean) =>
    ({ case: "isVerified", value: isVerified }) as const
  const { emailVerified, phoneVerified } = values
  if (email !== old?.email || emailVerified !== old.isVerified) {
    const verification = toVerification(emailVerified)
    await call(UserService.method.setEmail, { userId, email, verification })
  }
  if (phone === "") {
    if (before?.phone) await call(UserService.method.removePhone, { userId })
  } else if (phone !== before?.phone || phoneVerified !== before.isVerified) {
    const verification = toVerification(phoneVerified)
    await call(UserService.method.setPhone, { userId, phone, verification })
  }
}

const contactForm = (userId: string, human: HumanUser) =>
  defineForm<ContactValues, void>({
    initial: {
      email: human.email?.email ?? "",
      phone: human.phone?.phone ?? "",
      emailVerified: human.email?.isVerified ?? false,
      phoneVerified: human.phone?.isVerified ?? false,
    },
    refusals: { email: ["user.email"], phone: ["user.phone"] },
    readBeforeSave: true,
    save: (values) => saveContacts(userId, human, values),
    fields: ({ text, check, values }) => [
      text("email", t("field.email"), { type: "email", required: true }),
      check("emailVerified", t("contact.email_verified"), t("contact.verified_hint")),
      text("phone", t("field.phone"), {
        optional: true,
        hint: t("contact.phone_hint"),
        type: "tel",
      }),
      values.phone.trim() !== "" && check("phoneVerified", t("contact.phone_verified")),
    ],
  })
