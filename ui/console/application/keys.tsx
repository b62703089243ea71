import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Credentials } from "../list/index.ts"
import { call } from "../shell/index.ts"
import type { ApplicationPart } from "./update-application.ts"

const { listApplicationKeys, createApplicationKey, deleteApplicationKey } =
  ApplicationService.method

/** Keys with which an application signs client assertions in place of a secret. */
export function ApplicationKeys({ application }: ApplicationPart) {
  const { applicationId, projectId } = application
  const ids = { applicationId, projectId }
  const own = { case: "applicationIdFilter", value: { applicationId } } as const
  return (
    <Credentials
      family="app_keys"
      method={listApplicationKeys}
      input={{ filters: [{ filter: own }] }}
      find={({ keys }) => keys.map(({ keyId, ...key }) => ({ ...key, id: keyId }))}
      needs={{ create: createApplicationKey, remove: deleteApplicationKey }}
      create={async ({ expirationDate }) => {
        const request = { ...ids, expirationDate }
        const { keyId, keyDetails } = await call(createApplicationKey, request)
        return { id: keyId, text: new TextDecoder().decode(keyDetails) }
      }}
      remove={(keyId) => call(deleteApplicationKey, { ...ids, keyId })}
    />
  )
}
