import { AccessTokenType } from "../../src/gen/core/user/v2/user_pb.ts"
import { Alert } from "../kit/alert.tsx"
import { SelectField } from "../kit/select.tsx"
import { tokenNames } from "./application/protocol.ts"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { type Changed, useActionWith } from "./load.ts"

const types = { opaque: AccessTokenType.BEARER, jwt: AccessTokenType.JWT } as const

type ServiceTokenTypeProps = {
  readonly userId: string
  readonly type: AccessTokenType
  readonly onChanged: Changed
}

/** What the tokens look like that a service user gets for its key or secret. */
export function ServiceTokenType({ userId, type, onChanged }: ServiceTokenTypeProps) {
  const { t, core } = useHouse()
  const action = useActionWith(async (name: keyof typeof types) => {
    const value = { accessTokenType: types[name] }
    await core.users.updateUser({ userId, userType: { case: "machine", value } })
    await onChanged()
  })
  const current = tokenNames.find((name) => types[name] === type) ?? "opaque"
  return (
    <Section title={t("tokens_of.type")}>
      <div className="form">
        <SelectField
          label={t("tokens_of.form")}
          hint={t(`token_type.${current}.hint`)}
          options={tokenNames.map((value) => ({ value, label: t(`token_type.${value}`) }))}
          value={current}
          onChange={action.run}
        />
        {action.error && <Alert tone="danger">{action.error}</Alert>}
      </div>
    </Section>
  )
}
