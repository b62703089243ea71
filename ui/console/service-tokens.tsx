import { Credentials, type ServiceCredentialsProps } from "./credentials.tsx"
import { useHouse } from "./house.ts"

/** Personal access tokens: a service user sends them as they are. */
export function ServiceTokens({ userId, readings }: ServiceCredentialsProps) {
  const { core } = useHouse()
  const filters = [{ filter: { case: "userIdFilter", value: { id: userId } } as const }]
  return (
    <Credentials
      family="tokens"
      holder={userId}
      readings={readings}
      read={async (signal) =>
        (await core.users.listPersonalAccessTokens({ filters }, { signal })).result
      }
      create={async ({ expirationDate }) => {
        const wanted = { userId, expirationDate }
        const { tokenId, token } = await core.users.addPersonalAccessToken(wanted)
        return { id: tokenId, text: token }
      }}
      remove={(tokenId) => core.users.removePersonalAccessToken({ userId, tokenId })}
    />
  )
}
