import type { MessageInitShape } from "@bufbuild/protobuf"
import { AccessTokenType, type MachineUser } from "../../../src/gen/core/user/v2/user_pb.ts"
import {
  type UpdateUserRequest_MachineSchema,
  UserService,
} from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { SelectSetting } from "../form/index.ts"
import { algorithms, jwtTypes } from "../instance/token-settings.ts"
import { Credentials } from "../list/index.ts"
import { call, Section, t } from "../shell/index.ts"
import { ServiceSecret } from "./service-secret.tsx"
import type { UserPart } from "./user.ts"

const { listKeys, addKey, removeKey, updateUser } = UserService.method
const { listPersonalAccessTokens, addPersonalAccessToken, removePersonalAccessToken } =
  UserService.method

/** Credentials of a service account, most secure first. */
export function ServiceCredentials({ user }: UserPart) {
  const { userId, username, type } = user
  if (type.case !== "machine") return null
  const theirs = { filters: [{ filter: { case: "userIdFilter", value: { id: userId } } as const }] }
  return (
    <>
      <Credentials
        family="keys"
        acceptsPublicKey
        method={listKeys}
        input={theirs}
        find={({ result }) => result}
        needs={{ create: addKey, remove: removeKey }}
        create={async ({ expirationDate, publicKey }) => {
          const request = { userId, expirationDate, publicKey }
          const { keyId, keyContent } = await call(addKey, request)
          const isOwn = publicKey.length > 0
          return { id: keyId, text: isOwn ? "" : new TextDecoder().decode(keyContent) }
        }}
        remove={(keyId) => call(removeKey, { userId, keyId })}
      />
      <ServiceSecret userId={userId} username={username} machine={type.value} />
      <Credentials
        family="tokens"
        method={listPersonalAccessTokens}
        input={theirs}
        find={({ result }) => result}
        needs={{ create: addPersonalAccessToken, remove: removePersonalAccessToken }}
        create={async ({ expirationDate, name }) => {
          const created = await call(addPersonalAccessToken, { userId, expirationDate, name })
          return { id: created.tokenId, text: created.token }
        }}
        remove={(tokenId) => call(removePersonalAccessToken, { userId, tokenId })}
      />
      <TokenFormat userId={userId} machine={type.value} />
    </>
  )
}

/** Labels that equal their values. */
const identityLabels = <Value extends string>(values: readonly Value[]): Record<string, string> =>
  Object.fromEntries(values.map((value) => [value, value]))

const tokenTypes = { opaque: AccessTokenType.BEARER, jwt: AccessTokenType.JWT } as const

type TokenFormatProps = { readonly userId: string; readonly machine: MachineUser }
type MachineInput = MessageInitShape<typeof UpdateUserRequest_MachineSchema>

/** The format of a service account's access tokens. */
function TokenFormat({ userId, machine }: TokenFormatProps) {
  const type = machine.accessTokenType
  const update = (value: MachineInput) =>
    call(updateUser, { userId, userType: { case: "machine", value } })
  return (
    <Section title={t("tokens_of.type")}>
      <SelectSetting
        needs={updateUser}
        label={t("tokens_of.form")}
        hint={t(type === tokenTypes.jwt ? "token_type.jwt.hint" : "token_type.opaque.hint")}
        options={tokenTypes}
        format={(name) => t(`token_type.${name}`)}
        current={type}
        act={(accessTokenType) => update({ accessTokenType })}
      />
      {type === tokenTypes.jwt && (
        <>
          <SelectSetting
            needs={updateUser}
            label={t("jwt_type.title")}
            hint={t("jwt_type.hint")}
            options={identityLabels(jwtTypes)}
            format={(name) => name}
            current={machine.accessTokenJwtType}
            act={(accessTokenJwtType) => update({ accessTokenJwtType })}
          />
          <SelectSetting
            needs={updateUser}
            label={t("signer.accessTokenSigningAlgorithm")}
            hint={t("signer.accessTokenSigningAlgorithm.hint")}
            options={{ inherited: "", ...identityLabels(algorithms) }}
            format={(name) => (name === "inherited" ? t("tokens_of.inherited") : name)}
            current={machine.accessTokenSigningAlgorithm}
            act={(accessTokenSigningAlgorithm) => update({ accessTokenSigningAlgorithm })}
          />
        </>
      )}
    </Section>
  )
}
