import { Credentials, type ServiceCredentialsProps } from "./credentials.tsx"
import { useHouse } from "./house.ts"

/** The keys with which a service user signs its assertions. */
export function ServiceKeys({ userId, readings }: ServiceCredentialsProps) {
  const { core } = useHouse()
  const filters = [{ filter: { case: "userIdFilter", value: { id: userId } } as const }]
  return (
    <Credentials
      family="keys"
      holder={userId}
      readings={readings}
      takesPublicKey
      read={async (signal) => (await core.users.listKeys({ filters }, { signal })).result}
      create={async (wanted) => {
        const { keyId, keyContent } = await core.users.addKey({ userId, ...wanted })
        const isOwn = wanted.publicKey.length > 0
        return { id: keyId, text: isOwn ? "" : new TextDecoder().decode(keyContent) }
      }}
      remove={(keyId) => core.users.removeKey({ userId, keyId })}
    />
  )
}
