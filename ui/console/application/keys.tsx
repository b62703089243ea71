import { Credentials } from "../credentials.tsx"
import { useHouse } from "../house.ts"
import type { Observed } from "./change.ts"

/** The keys with which an application signs assertions in place of sending a secret. */
export function Keys({ application, readings }: Observed) {
  const { core } = useHouse()
  const { applicationId, projectId } = application
  const ids = { applicationId, projectId }
  const own = { case: "applicationIdFilter", value: { applicationId } } as const
  return (
    <Credentials
      family="app_keys"
      holder={applicationId}
      readings={readings}
      read={async (signal) => {
        const request = { filters: [{ filter: own }] }
        const { keys } = await core.applications.listApplicationKeys(request, { signal })
        return keys.map(({ keyId, ...key }) => ({ ...key, id: keyId }))
      }}
      create={async ({ expirationDate }) => {
        const wanted = { ...ids, expirationDate }
        const { keyId, keyDetails } = await core.applications.createApplicationKey(wanted)
        return { id: keyId, text: new TextDecoder().decode(keyDetails) }
      }}
      remove={(keyId) => core.applications.deleteApplicationKey({ ...ids, keyId })}
    />
  )
}
