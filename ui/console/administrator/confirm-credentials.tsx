import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Check } from "../../kit/index.ts"
import { language, PagePart, type Refusal, t, useReadIfAllowed } from "../shell/index.ts"
import { parseUnconfirmed, type UnconfirmedCredential } from "./unconfirmed-credentials.ts"

type ConfirmCredentialsProps = {
  readonly refusal: Refusal | undefined
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** Credentials that others created for a future administrator, to confirm individually. */
export function ConfirmCredentials({ refusal, values, onChange }: ConfirmCredentialsProps) {
  const open = parseUnconfirmed(refusal)
  if (open.length === 0) return null
  return (
    <fieldset className="checks">
      <legend className="field-label choice-legend">{t("unconfirmed.title")}</legend>
      {open.map((credential) => (
        <PagePart key={credential.subject}>
          <CredentialCheck
            credential={credential}
            checked={values.includes(credential.subject)}
            onChange={(on) =>
              onChange(
                on
                  ? [...values, credential.subject]
                  : values.filter((each) => each !== credential.subject),
              )
            }
          />
        </PagePart>
      ))}
    </fieldset>
  )
}

type CredentialProps = {
  readonly credential: UnconfirmedCredential
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

function CredentialCheck({ credential, checked, onChange }: CredentialProps) {
  const creator = useUserName(credential.by)
  const user = useUserName(credential.userId)
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
  return (
    <Check
      label={t(`unconfirmed.kind.${credential.kind}`, { user })}
      hint={t("unconfirmed.created", { creator, date: format.format(credential.at) })}
      checked={checked}
      onChange={onChange}
    />
  )
}

/** The name of a user, or the ID if the caller can't read the user. */
function useUserName(userId: string): string {
  const { user } = useReadIfAllowed(UserService.method.getUserByID, { userId }) ?? {}
  return user?.preferredLoginName ?? userId
}
