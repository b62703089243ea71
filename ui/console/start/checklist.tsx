import { createQueryOptions } from "@connectrpc/connect-query"
import { useSuspenseQueries } from "@tanstack/react-query"
import { useState } from "react"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Type } from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Check } from "../../kit/check.tsx"
import { Section } from "../shell/detail.tsx"
import { Link, type LinkOptions } from "../shell/link.tsx"
import { useText } from "../shell/text.ts"
import { transport } from "../shell/transport.ts"

const copied = "latchkey.checklist.key_copied"

/** What comes after set-up. Each step is ticked by what is there, but for what nobody can see. */
export function Checklist({ close }: { readonly close: () => void }) {
  const { t } = useText()
  const [hasCopy, setCopy] = useState(() => localStorage.getItem(copied) !== null)
  const { hasApplication, hasPerson, hasSignedIn } = useProgress()
  const turnCopy = (on: boolean) => {
    if (on) localStorage.setItem(copied, "1")
    else localStorage.removeItem(copied)
    setCopy(on)
  }
  const isOver = hasApplication && hasPerson && hasSignedIn && hasCopy
  return (
    <Section
      title={t("start.title")}
      actions={
        <Button small onClick={close}>
          {t("start.put_away")}
        </Button>
      }
    >
      {isOver && <p className="section-lead">{t("start.over")}</p>}
      <ol className="steps">
        <Step done={hasApplication} step="application" link={{ to: "/applications/new" }} />
        <Step done={hasPerson} step="person" link={{ to: "/users/new" }} />
        <Step done={hasSignedIn} step="sign_in" link={{ to: "/applications" }} />
        <li>
          <Check
            label={t("start.key")}
            hint={t("start.key_hint")}
            checked={hasCopy}
            onChange={turnCopy}
          />
        </li>
      </ol>
    </Section>
  )
}

type StepProps = {
  readonly done: boolean
  readonly step: "application" | "person" | "sign_in"
  readonly link: LinkOptions
}

function Step({ done, step, link }: StepProps) {
  const { t } = useText()
  return (
    <li className={done ? "step step-done" : "step"}>
      <span className="step-mark" aria-hidden="true">
        {done ? "✓" : ""}
      </span>
      <span>
        <Link {...link}>{t(`start.${step}`)}</Link>{" "}
        <span className="visually-hidden">{t(done ? "start.done" : "start.open")}</span>
        <span className="quiet small step-hint">{t(`start.${step}_hint`)}</span>
      </span>
    </li>
  )
}

/** Told by what the server has: one row of each is enough to know. */
function useProgress() {
  const options = { transport }
  const one = { pagination: { limit: 1 } }
  const people = { query: { case: "typeQuery", value: { type: Type.HUMAN } } } as const
  const others = { filter: { case: "internalFilter", value: false } } as const
  const { listApplications } = ApplicationService.method
  const [applications, users, uses] = useSuspenseQueries({
    queries: [
      createQueryOptions(listApplications, { ...one, filters: [others] }, options),
      createQueryOptions(
        UserService.method.listUsers,
        { query: { limit: 1 }, queries: [people] },
        options,
      ),
      createQueryOptions(ActivityService.method.listApplicationUses, one, options),
    ],
  })
  return {
    hasApplication: (applications.data.pagination?.totalResult ?? 0n) > 0n,
    // Whoever set it up is one.
    hasPerson: (users.data.details?.totalResult ?? 0n) > 1n,
    hasSignedIn: (uses.data.pagination?.totalResult ?? 0n) > 0n,
  }
}
