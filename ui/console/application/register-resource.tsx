import {
  type Application,
  ApplicationType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { call, RefusalAlert, t, useAction, useIsPermitted, useRead } from "../shell/index.ts"
import { updateApi } from "./api.tsx"

const { createApplication, getApplication, listApplications, updateApplication } =
  ApplicationService.method

type RegisterResourceProps = { readonly applicationId: string; readonly uri: string }

/** Offers to register the resource (RFC 8707) of a rejected request. */
export function RegisterResource({ applicationId, uri }: RegisterResourceProps) {
  const { application } = useRead(getApplication, { applicationId })
  if (!application || !isRegistrable(uri)) return null
  return <RegisterAtApi projectId={application.projectId} uri={uri} />
}

/** Registers it at an API of the application's project, or creates an API. */
function RegisterAtApi({ projectId, uri }: { readonly projectId: string; readonly uri: string }) {
  const may = useIsPermitted()
  const { applications } = useRead(listApplications, {
    filters: [
      { filter: { case: "projectIdFilter", value: { projectId } } },
      { filter: { case: "typeFilter", value: ApplicationType.API } },
    ],
  })
  const register = useAction((api: Application | undefined) =>
    api ? addResource(api, uri) : createApiWith(projectId, uri),
  )
  if (applications.some((api) => resourcesOf(api).includes(uri))) {
    return <p className="quiet small">{t("refused.resource_registered")}</p>
  }
  if (!may(applications.length > 0 ? updateApplication : createApplication)) return null
  return (
    <>
      <RefusalAlert refusal={register.refusal} />
      <div className="row">
        {applications.map((api) => (
          <Button
            small
            key={api.applicationId}
            disabled={register.busy}
            onClick={() => register.run(api)}
          >
            {t("refused.register_resource", { name: api.name })}
          </Button>
        ))}
        {applications.length === 0 && (
          <Button small disabled={register.busy} onClick={() => register.run(undefined)}>
            {t("refused.create_api", { name: hostOf(uri) })}
          </Button>
        )}
      </div>
    </>
  )
}

const resourcesOf = ({ configuration }: Application): readonly string[] =>
  configuration.case === "apiConfiguration" ? (configuration.value.resources?.uris ?? []) : []

/** Added to the currently registered resources, which may have changed since. */
async function addResource({ applicationId }: Application, uri: string) {
  const { application } = await call(getApplication, { applicationId })
  if (application?.configuration.case !== "apiConfiguration") return
  const { authMethodType } = application.configuration.value
  const uris = [...new Set([...resourcesOf(application), uri])]
  await updateApi(application, { authMethodType, resources: { uris } })
}

async function createApiWith(projectId: string, uri: string) {
  const value = { resources: { uris: [uri] } }
  const applicationType = { case: "apiConfiguration", value } as const
  await call(createApplication, { projectId, name: hostOf(uri), applicationType })
}

const hostOf = (uri: string): string => new URL(uri).host

/** Received URIs are stored truncated, so URIs of that length are not offered. */
const isRegistrable = (uri: string): boolean =>
  /^https?:\/\/[\x21-\x7e]+$/.test(uri) &&
  URL.canParse(uri) &&
  !uri.includes("#") &&
  uri.length < 500
