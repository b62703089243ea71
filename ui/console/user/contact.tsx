import { useState } from "react"
import type { HumanUser } from "../../../src/gen/core/user/v2/user_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Check } from "../../kit/check.tsx"
import { TextField } from "../../kit/field.tsx"
import { ActionForm, EditSection, useSaving, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { UserPart } from "./part.ts"

/** Where a person can be reached, and whether that has been checked. */
export function Contact(part: UserPart) {
  const { t } = useHouse()
  const { type } = part.user
  if (type.case !== "human") return null
  return (
    <EditSection
      title={t("contact.title")}
      facts={<Facts human={type.value} />}
      form={(close) => <ContactForm {...part} human={type.value} close={close} />}
    />
  )
}

function Facts({ human: { email, phone } }: { readonly human: HumanUser }) {
  const { t } = useHouse()
  return (
    <dl className="facts">
      <dt>{t("field.email")}</dt>
      <dd>
        <Reached at={email?.email ?? ""} isVerified={email?.isVerified ?? false} />
      </dd>
      <dt>{t("field.phone")}</dt>
      <dd>
        <Reached at={phone?.phone ?? ""} isVerified={phone?.isVerified ?? false} />
      </dd>
    </dl>
  )
}

type ReachedProps = { readonly at: string; readonly isVerified: boolean }

function Reached({ at, isVerified }: ReachedProps) {
  const { t } = useHouse()
  if (at === "") return <span className="quiet">{t("detail.none")}</span>
  return (
    <>
      <bdi>{at}</bdi>
      <Badge tone={isVerified ? "done" : "quiet"}>
        {t(isVerified ? "users.verified" : "users.not_verified")}
      </Badge>
    </>
  )
}

type FormProps = UserPart & { readonly human: HumanUser; readonly close: () => void }

function ContactForm({ user, human, onChanged, close }: FormProps) {
  const { t, core } = useHouse()
  const { userId } = user
  const { texts, field } = useTexts({
    email: human.email?.email ?? "",
    phone: human.phone?.phone ?? "",
  })
  const [checked, setChecked] = useState({
    email: human.email?.isVerified ?? false,
    phone: human.phone?.isVerified ?? false,
  })
  const save = async () => {
    const [email, phone] = [texts.email.trim(), texts.phone.trim()]
    const said = (isVerified: boolean) => ({ case: "isVerified", value: isVerified }) as const
    const isSame = email === human.email?.email && checked.email === human.email.isVerified
    if (!isSame) await core.users.setEmail({ userId, email, verification: said(checked.email) })
    if (phone === "") {
      if (human.phone?.phone) await core.users.removePhone({ userId })
    } else if (phone !== human.phone?.phone || checked.phone !== human.phone.isVerified) {
      await core.users.setPhone({ userId, phone, verification: said(checked.phone) })
    }
  }
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <TextField label={t("field.email")} type="email" {...field("email")} required autoFocus />
      <Check
        label={t("contact.email_verified")}
        hint={t("contact.verified_hint")}
        checked={checked.email}
        onChange={(email) => setChecked({ ...checked, email })}
      />
      <TextField
        label={t("field.phone")}
        optional={t("form.optional")}
        hint={t("contact.phone_hint")}
        type="tel"
        {...field("phone")}
      />
      {texts.phone.trim() !== "" && (
        <Check
          label={t("contact.phone_verified")}
          checked={checked.phone}
          onChange={(phone) => setChecked({ ...checked, phone })}
        />
      )}
    </ActionForm>
  )
}
