import {
  type Application,
  ApplicationType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { call, RefusalAlert, t, useAction, useMay, useRead } from "../shell/index.ts"
import { changeApi } from "./api.tsx"

const { createApplication, getApplication, listApplications, updateApplication } =
  ApplicationService.method

type RegisterProps = { readonly applicationId: string; readonly uri: string }

/** Offers to register a resource (RFC 8707) that an application was refused with. */
export function RegisterResource({ applicationId, uri }: RegisterProps) {
  const { application } = useRead(getApplication, { applicationId })
  if (!application || !isRegistrable(uri)) return null
  return <Register projectId={application.projectId} uri={uri} />
}

/** It is registered at the APIs of the application's project; one is created if there is none. */
function Register({ projectId, uri }: { readonly projectId: string; readonly uri: string }) {
  const may = useMay()
  const { applications } = useRead(listApplications, {
    filters: [
      { filter: { case: "projectIdFilter", value: { projectId } } },
      { filter: { case: "typeFilter", value: ApplicationType.API } },
    ],
  })
  const register = useAction((api: Application | undefined) =>
    api ? registerAt(api, uri) : createFor(projectId, uri),
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

/** Beside what is registered now, whoever has changed that since. */
async function registerAt({ applicationId }: Application, uri: string) {
  const { application } = await call(getApplication, { applicationId })
  if (application?.configuration.case !== "apiConfiguration") return
  const { authMethodType } = application.configuration.value
  const uris = [...new Set([...resourcesOf(application), uri])]
  await changeApi(application, { authMethodType, resources: { uris } })
}

async function createFor(projectId: string, uri: string) {
  const value = { resources: { uris: [uri] } }
  const applicationType = { case: "apiConfiguration", value } as const
  await call(createApplication, { projectId, name: hostOf(uri), applicationType })
}

const hostOf = (uri: string): string => new URL(uri).host

/** What was received is kept shortened, so nothing as long as that is registered. */
const isRegistrable = (uri: string): boolean =>
  /^https?:\/\/[\x21-\x7e]+$/.test(uri) &&
  URL.canParse(uri) &&
  !uri.includes("#") &&
  uri.length < 500
