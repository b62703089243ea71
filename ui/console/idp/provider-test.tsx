import { Suspense, useState } from "react"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Alert, Button, Dialog, TextField } from "../../kit/index.ts"
import { DialogForm, formId, useForm } from "../form/index.ts"
import { useListState } from "../list/index.ts"
import {
  call,
  Facts,
  has,
  IfPermitted,
  PagePart,
  RefusalAlert,
  refusalOf,
  t,
  useAction,
  useRead,
} from "../shell/index.ts"
import type { KindName } from "./provider-kind.ts"
import { SecretField } from "./secret-field.tsx"

const { startProviderTest, getProviderTest } = DiagnosisService.method

type TestProps = { readonly id: string; readonly name: string; readonly kind: KindName }

/** Tests a provider: redirects the browser to it and back, or asks for a name and password. */
export function TestProvider({ id, name, kind }: TestProps) {
  const { set } = useListState()
  const [open, setOpen] = useState(false)
  const label = t("idps.test")
  const away = useAction(
    () => call(startProviderTest, { idpId: id }),
    ({ authUrl }) => location.assign(authUrl),
  )
  const start = () => (kind === "ldap" ? setOpen(true) : away.run())
  return (
    <IfPermitted needs={startProviderTest}>
      <Button
        small
        kind="plain"
        aria-label={`${label}: ${name}`}
        disabled={away.busy}
        onClick={start}
      >
        {label}
      </Button>
      <RefusalAlert refusal={away.refusal} />
      {open && (
        <DirectoryTest
          id={id}
          name={name}
          close={() => setOpen(false)}
          done={(end) => {
            setOpen(false)
            set({ tested: id, ...end }, "quietly")
          }}
        />
      )}
    </IfPermitted>
  )
}

type DirectoryTestProps = Pick<TestProps, "id" | "name"> & {
  readonly close: () => void
  readonly done: (end: TestEnd) => void
}

/** The result of a test, stored in the page's URL. */
type TestEnd = { readonly id: string; readonly token: string } | { readonly error: string }

type DirectoryCredentials = { readonly username: string; readonly password: string }

/** A misconfigured directory is a test result, not an error. */
async function testDirectory(idpId: string, typed: DirectoryCredentials): Promise<TestEnd> {
  try {
    const { testId, testToken } = await call(startProviderTest, { idpId, ...typed })
    return { id: testId, token: testToken }
  } catch (failure) {
    const { id } = refusalOf(failure)
    if (!testFailureIds.has(id)) throw failure
    return { error: id }
  }
}

const testFailureIds: ReadonlySet<string> = new Set([
  "idp.unreachable",
  "idp.answer_refused",
  "idp.claims_missing",
])

function DirectoryTest({ id, name, close, done }: DirectoryTestProps) {
  const form = useForm({
    id: formId("idp_test", id),
    initial: { username: "", password: "" },
    secret: ["password"],
    refusals: { password: ["idp.credentials_wrong"] },
    save: (typed) => testDirectory(id, typed),
    done,
  })
  const title = `${t("idps.test")}: ${name}`
  return (
    <DialogForm title={title} form={form} submit={t("idps.test")} onCancel={close}>
      <p className="quiet">{t("idps.test_directory")}</p>
      <TextField label={t("idps.test_name")} {...form.text("username")} required autoFocus />
      <SecretField form={form} name="password" label={t("idps.test_password")} required />
    </DialogForm>
  )
}

/** The result of the test in the page's URL. */
export function TestResult() {
  const { get, set } = useListState()
  const close = () =>
    set({ tested: undefined, id: undefined, token: undefined, error: undefined }, "quietly")
  const [tested, id, token, error] = [get("tested"), get("id"), get("token"), get("error")]
  if (tested === undefined || (error === undefined && (id === undefined || token === undefined))) {
    return null
  }
  return (
    <Dialog title={t("idps.tested")} onClose={close}>
      {error === undefined ? (
        <Suspense>
          <PagePart rows={6}>
            <TestOutcome testId={id ?? ""} testToken={token ?? ""} />
          </PagePart>
        </Suspense>
      ) : (
        <TestFailed reason={error} />
      )}
      <div className="form-actions">
        <Button onClick={close}>{t("idps.tested_close")}</Button>
      </div>
    </Dialog>
  )
}

function TestFailed({ reason }: { readonly reason: string }) {
  const key = `idps.failed.${reason.replace(/^idp\./, "")}`
  return <Alert tone="danger">{has(key) ? t(key) : t("idps.failed.answer_refused")}</Alert>
}

/** Profile fields that an account requires. */
const requiredFields = ["email", "givenName", "familyName"] as const

type TestOutcomeProps = { readonly testId: string; readonly testToken: string }

function TestOutcome(props: TestOutcomeProps) {
  const { raw, person } = useRead(getProviderTest, props)
  if (!person) return null
  const missing = requiredFields.filter((name) => person[name] === "")
  const names = missing.map((name) => t(`idps.person.${name}`)).join(", ")
  const email = person.email && (person.emailVerified ? "verified" : "unverified")
  return (
    <div className="stack">
      {missing.length > 0 ? (
        <Alert tone="warning">{t("idps.tested_missing", { names })}</Alert>
      ) : (
        <Alert tone="done">{t("idps.tested_whole")}</Alert>
      )}
      <Facts
        rows={[
          [t("idps.person.externalId"), <code key="id">{person.externalId}</code>],
          [t("idps.person.userName"), person.userName],
          [t("idps.person.givenName"), person.givenName],
          [t("idps.person.familyName"), person.familyName],
          [t("idps.person.displayName"), person.displayName],
          [t("idps.person.nickName"), person.nickName],
          [t("idps.person.email"), email && `${person.email} (${t(`idps.tested.${email}`)})`],
          [t("idps.person.phone"), person.phone],
          [t("idps.person.preferredLanguage"), person.preferredLanguage],
        ]}
      />
      <h3>{t("idps.tested_raw")}</h3>
      <pre className="snippet">{JSON.stringify(raw, null, 2)}</pre>
    </div>
  )
}
