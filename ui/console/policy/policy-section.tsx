import { ConfirmButton, Contested, EditSection, formOf } from "../form/index.ts"
import { Facts, notify, Part, t } from "../shell/index.ts"
import { type EffectivePolicy, resetPolicy, savePolicy, usePolicy } from "./effective-policy.ts"
import { useWords, valueIn } from "./field-values.ts"
import type { Field, Policy, PolicyOwner, Values } from "./policy.ts"
import { PolicyField } from "./policy-field.tsx"

type PolicyProps = { readonly policy: Policy; readonly place: PolicyOwner }

/** One policy at a place: what holds, who says so, and its form for whoever may change it. */
export function PolicySection({ policy, place }: PolicyProps) {
  const standing = usePolicy(policy, place)
  const words = useWords()
  if (!standing) return null
  const part = { policy, place, standing }
  const { more: More } = policy
  const { add, update } = policy.organization
  const isHere = place === undefined || standing.isOwn
  const change = place === undefined ? policy.instance.update : standing.isOwn ? update : add
  return (
    <EditSection
      needs={change}
      title={t(policy.title)}
      facts={
        <>
          <PolicyFacts {...part} />
          {More && (
            <Part>
              <More values={standing.values} place={place} isHere={isHere} change={change} />
            </Part>
          )}
        </>
      }
      {...(!isHere && { action: t("policy.set_own") })}
      {...(standing.isOwn && { more: <Reset {...part} /> })}
      form={policyForm({ ...part, words })}
    />
  )
}

type EffectivePolicyProps = PolicyProps & { readonly standing: EffectivePolicy }

function PolicyFacts({ policy, place, standing }: EffectivePolicyProps) {
  const words = useWords()
  const { values, isOwn, inherited } = standing
  const source = (field: Field) => {
    if (!isOwn) return t("policy.inherited")
    const above = inherited && words(field, inherited)
    const isOther = above !== undefined && above !== words(field, values)
    return isOther ? t("policy.own_other", { value: above }) : t("policy.own")
  }
  return (
    <>
      <p className="quiet section-lead">{t(policy.lead)}</p>
      <Facts
        rows={policy.fields.map((field) => [
          t(field.label),
          <>
            {words(field, values)}
            {place !== undefined && <span className="quiet small">{source(field)}</span>}
          </>,
        ])}
      />
    </>
  )
}

type FormProps = EffectivePolicyProps & { readonly words: ReturnType<typeof useWords> }

const policyForm = ({ policy, place, standing, words }: FormProps) =>
  formOf<Values, void>({
    initial: standing.values,
    authored: true,
    save: (values, stored) => savePolicy(policy, place, { standing, values, stored }),
    fields: (form) => (
      <>
        <p className="quiet section-lead">{t(policy.lead)}</p>
        <div className={policy.preview ? "beside" : undefined}>
          <div className="checks">
            {policy.fields.map((field) => (
              <Contested
                key={field.name}
                form={form}
                name={field.name}
                label={t(field.label)}
                words={(value) => words(field, { [field.name]: valueIn(value) })}
              >
                <PolicyField
                  field={field}
                  value={form.values[field.name] ?? ""}
                  error={form.errorOf(field.name)}
                  onChange={(value) => form.change({ [field.name]: value })}
                />
              </Contested>
            ))}
          </div>
          {policy.preview && (
            <Part>
              <policy.preview values={form.values} place={place} />
            </Part>
          )}
        </div>
      </>
    ),
  })

/** Back to what the instance says: what that changes is said first, and it can be undone. */
function Reset({ policy, place, standing }: EffectivePolicyProps) {
  const words = useWords()
  const { values, inherited = values } = standing
  const title = t(policy.title)
  const others = policy.fields.filter((field) => words(field, inherited) !== words(field, values))
  const undo = () => savePolicy(policy, place, { standing: { ...standing, isOwn: false }, values })
  return (
    <ConfirmButton
      small
      needs={policy.organization.reset}
      label={t("policy.reset")}
      what={title}
      consequence={
        <>
          <p>{t("policy.reset_text")}</p>
          <Facts rows={others.map((field) => [t(field.label), words(field, inherited)])} />
        </>
      }
      act={() => resetPolicy(policy, place)}
      done={() => notify({ text: t("policy.reset_told", { name: title }), undo })}
    />
  )
}
