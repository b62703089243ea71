import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Check } from "../../kit/index.ts"
import { language, Part, type Refusal, t, useReadIfAllowed } from "../shell/index.ts"
import { type Unconfirmed, unconfirmedIn } from "./unconfirmed-credentials.ts"

type ConfirmCredentialsProps = {
  readonly refusal: Refusal | undefined
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** What others created for somebody who is to become an administrator, to confirm one by one. */
export function ConfirmCredentials({ refusal, values, onChange }: ConfirmCredentialsProps) {
  const open = unconfirmedIn(refusal)
  if (open.length === 0) return null
  return (
    <fieldset className="checks">
      <legend className="field-label choice-legend">{t("unconfirmed.title")}</legend>
      {open.map((one) => (
        <Part key={one.subject}>
          <Credential
            one={one}
            checked={values.includes(one.subject)}
            onChange={(on) =>
              onChange(
                on ? [...values, one.subject] : values.filter((each) => each !== one.subject),
              )
            }
          />
        </Part>
      ))}
    </fieldset>
  )
}

type CredentialProps = {
  readonly one: Unconfirmed
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

function Credential({ one, checked, onChange }: CredentialProps) {
  const creator = useNameOf(one.by)
  const user = useNameOf(one.userId)
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
  return (
    <Check
      label={t(`unconfirmed.kind.${one.kind}`, { user })}
      hint={t("unconfirmed.created", { creator, date: format.format(one.at) })}
      checked={checked}
      onChange={onChange}
    />
  )
}

/** The name of a user, or the ID for whoever may not look at them. */
function useNameOf(userId: string): string {
  const { user } = useReadIfAllowed(UserService.method.getUserByID, { userId }) ?? {}
  return user?.preferredLoginName ?? userId
}
