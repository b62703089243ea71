import { useState } from "react"
import { type Domain, DomainValidationType } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { defineForm } from "../form/index.ts"
import { call, copyableFact, Facts, RefusalAlert, t, useAction } from "../shell/index.ts"

const methods = { dns: DomainValidationType.DNS, http: DomainValidationType.HTTP } as const
type Method = keyof typeof methods
const methodNames: readonly Method[] = ["dns", "http"]

/** What to publish, and where. */
type Instructions = { readonly token: string; readonly url: string }

type DomainValidationProps = { readonly domain: Domain; readonly close: () => void }

/** Verifies the ownership of a domain: publish a record or a file, then check it. */
export function DomainValidation({ domain: organizationDomain, close }: DomainValidationProps) {
  const { organizationId, domain, validationType } = organizationDomain
  const [instructions, setInstructions] = useState<Instructions | undefined>(undefined)
  const defaultMethod: Method = validationType === DomainValidationType.HTTP ? "http" : "dns"
  const [method, setMethod] = useState(defaultMethod)
  const form = defineForm({
    initial: { way: defaultMethod },
    save: async ({ way: chosen }) => {
      const request = { organizationId, domain, type: methods[chosen] }
      setInstructions(
        await call(OrganizationService.method.generateOrganizationDomainValidation, request),
      )
      setMethod(chosen)
    },
    done: () => {},
    submit: t("domains.show"),
    fields: ({ choice }) => [
      choice("way", t("domains.way"), {
        of: methodNames,
        label: (one) => t(`domains.${one}`),
        hints: (one) => t(`domains.${one}.hint`),
      }),
      validationType !== DomainValidationType.UNSPECIFIED && (
        <p className="quiet small">{t("domains.again")}</p>
      ),
    ],
  })
  if (!instructions) return form({ id: `proof ${domain}`, close })
  return (
    <Publish
      method={method}
      instructions={instructions}
      domain={organizationDomain}
      close={close}
    />
  )
}

type PublishProps = DomainValidationProps & {
  readonly method: Method
  readonly instructions: Instructions
}

function Publish({ method, instructions, domain: organizationDomain, close }: PublishProps) {
  const { organizationId, domain } = organizationDomain
  const check = useAction(
    () => call(OrganizationService.method.verifyOrganizationDomain, { organizationId, domain }),
    close,
  )
  return (
    <div className="stack">
      <p>{t(`domains.${method}.lead`)}</p>
      <Facts
        rows={[
          copyableFact(t(`domains.${method}.where`), instructions.url),
          [t("domains.dns.type"), method === "dns" && <code>TXT</code>],
          copyableFact(t(`domains.${method}.what`), instructions.token),
        ]}
      />
      <p className="quiet small">{t("domains.later")}</p>
      <RefusalAlert refusal={check.refusal} />
      <div className="form-actions">
        <Button kind="primary" disabled={check.busy} onClick={() => check.run()}>
          {t("domains.check")}
        </Button>
        <Button onClick={close}>{t("domains.done")}</Button>
      </div>
    </div>
  )
}
