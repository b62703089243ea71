import { useState } from "react"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Domain,
  DomainFieldName,
  DomainValidationType,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { Badge } from "../../kit/badge.tsx"
import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { Collection, type FormPart } from "../collection.tsx"
import { ActionButton } from "../confirm.tsx"
import { type Core, within } from "../core.ts"
import { DialogForm, useTexts } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { Asked } from "../listing.tsx"
import type { Readings } from "../load.ts"
import { Proof } from "./proof.tsx"

type DomainsProps = { readonly organizationId: string; readonly readings: Readings }

/** The domains that login names of an organisation's people end in. */
export function Domains({ organizationId, readings }: DomainsProps) {
  const { t, core } = useHouse()
  return (
    <Collection
      family="domains"
      scope={organizationId}
      readings={readings}
      read={(asked, signal) => readDomains(core, { ...asked, organizationId }, signal)}
      columns={[
        { label: t("domains.domain"), cell: ({ domain }) => <bdi>{domain}</bdi> },
        { label: t("field.state"), cell: (row) => <State domain={row} /> },
      ]}
      keyOf={({ domain }) => domain}
      nameOf={({ domain }) => domain}
      form={(_, part) => <Add organizationId={organizationId} {...part} />}
      edits={false}
      isFixed={({ isPrimary }) => isPrimary}
      more={(domain) => <Steps domain={domain} readings={readings} />}
      remove={({ domain }) =>
        core.organizations.deleteOrganizationDomain({ organizationId, domain })
      }
    />
  )
}

type Wanted = Asked & { readonly organizationId: string }

async function readDomains(core: Core, wanted: Wanted, signal: AbortSignal) {
  const { organizationId, text, ...page } = wanted
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  const filter = { case: "domainFilter", value: { domain: text, method } } as const
  const request = {
    organizationId,
    pagination: { ...page, asc: true },
    sortingColumn: DomainFieldName.NAME,
    filters: text ? [{ filter }] : [],
  }
  const answer = await core.organizations.listOrganizationDomains(request, { signal })
  const { domains, pagination } = answer
  return { rows: domains, total: Number(pagination?.totalResult ?? domains.length) }
}

function State({ domain }: { readonly domain: Domain }) {
  const { t } = useHouse()
  return (
    <span className="badges">
      {domain.isPrimary && <Badge>{t("domains.is_primary")}</Badge>}
      <Badge tone={domain.isVerified ? "quiet" : "warning"}>
        {t(domain.isVerified ? "users.verified" : "users.not_verified")}
      </Badge>
    </span>
  )
}

type StepsProps = { readonly domain: Domain; readonly readings: Readings }

/** What can be done next: prove it, look whether the proof is there, then make it the first. */
function Steps({ domain: held, readings }: StepsProps) {
  const { t, core } = useHouse()
  const [proving, setProving] = useState(false)
  const { organizationId, domain, isVerified, validationType } = held
  const verify = async () => {
    await core.organizations.verifyOrganizationDomain({ organizationId, domain })
    await readings.reload()
  }
  const makePrimary = async () => {
    await core.management.setPrimaryOrgDomain({ domain }, within(organizationId))
    await readings.reload()
  }
  if (isVerified) return <ActionButton plain label={t("domains.make_primary")} act={makePrimary} />
  return (
    <>
      {validationType !== DomainValidationType.UNSPECIFIED && (
        <ActionButton plain label={t("domains.check")} act={verify} />
      )}
      <Button small kind="plain" onClick={() => setProving(true)}>
        {t("domains.prove")}
      </Button>
      {proving && (
        <Proof domain={held} onChanged={readings.reload} close={() => setProving(false)} />
      )}
    </>
  )
}

function Add({ organizationId, ...part }: FormPart & Pick<DomainsProps, "organizationId">) {
  const { t, core } = useHouse()
  const { texts, field } = useTexts({ domain: "" })
  const save = () => {
    const domain = texts.domain.trim()
    return core.organizations.addOrganizationDomain({ organizationId, domain })
  }
  const title = t("domains.create")
  return (
    <DialogForm title={title} submit={title} save={save} {...part}>
      <TextField
        label={t("domains.domain")}
        hint={t("domains.hint")}
        placeholder="example.com"
        {...field("domain")}
        autoCapitalize="none"
        spellCheck={false}
        required
        autoFocus
      />
    </DialogForm>
  )
}
