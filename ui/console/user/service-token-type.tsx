import { AccessTokenType } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { SelectField } from "../../kit/select.tsx"
import { tokenNames } from "../application/protocol.ts"
import { call, useAction } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { useMay } from "../shell/permission.ts"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"

const types = { opaque: AccessTokenType.BEARER, jwt: AccessTokenType.JWT } as const

type ServiceTokenTypeProps = { readonly userId: string; readonly type: AccessTokenType }

/** What the tokens look like that a service user gets for its key or secret. */
export function ServiceTokenType({ userId, type }: ServiceTokenTypeProps) {
  const { t } = useText()
  const may = useMay()
  const action = useAction((name: keyof typeof types) => {
    const value = { accessTokenType: types[name] }
    return call(UserService.method.updateUser, { userId, userType: { case: "machine", value } })
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
          disabled={!may(UserService.method.updateUser)}
          onChange={action.run}
        />
        <Refused refusal={action.refusal} />
      </div>
    </Section>
  )
}
