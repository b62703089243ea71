import { Alert, Badge, Button } from "../../kit/index.ts"
import { ActionButton, FileButton } from "../form/index.ts"
import { RefusalAlert, t, useAction, useIsPermitted } from "../shell/index.ts"
import {
  activateBranding,
  type BrandingFile,
  type BrandingFileKind,
  type BrandingFileState,
  brandingFiles,
  removeBrandingFile,
  uploadBrandingFile,
  useBrandingFile,
  useBrandingFiles,
} from "./branding-files.ts"
import { BrandingPreview } from "./branding-preview.tsx"
import type { PolicyOwner, PolicyPartProps } from "./policy.ts"

/** Logo, icon and font of the branding; changes are a preview until they are activated. */
export function BrandingFiles({ owner, values, isOwn, change }: PolicyPartProps) {
  const branding = useBrandingFiles(owner)
  const may = useIsPermitted(owner)
  if (!branding) return null
  const mayChange = isOwn && may(change)
  const isPending = brandingFiles.some(({ name }) => !branding.isShown(name))
  return (
    <div className="stack look">
      <h3>{t("look.title")}</h3>
      <p className="quiet">{t("look.lead")}</p>
      {!isOwn && <p className="quiet">{t("look.inherited")}</p>}
      <ul className="look-files">
        {brandingFiles.map((file) => (
          <FileRow
            key={file.kind}
            owner={owner}
            file={file}
            branding={branding}
            mayChange={mayChange}
          />
        ))}
      </ul>
      {isPending && (
        <Alert tone="warning" title={t("look.pending")}>
          <p>{t("look.pending_text")}</p>
          <BrandingPreview values={values} owner={owner} />
          {mayChange && (
            <ActionButton
              needs={change}
              label={t("look.show")}
              act={() => activateBranding(owner)}
            />
          )}
        </Alert>
      )}
    </div>
  )
}

type FileRowProps = {
  readonly owner: PolicyOwner
  readonly file: BrandingFile
  readonly branding: BrandingFileState
  readonly mayChange: boolean
}

function FileRow({ owner, file, branding, mayChange }: FileRowProps) {
  const { name, kind, background: ground } = file
  const hasFile = branding.has(name)
  const label = t(`look.${name}`)
  return (
    <li className="look-file">
      <span className={`look-ground look-ground-${ground}`}>
        {hasFile && kind !== "font" ? (
          <FilePreview owner={owner} kind={kind} label={label} />
        ) : (
          <Dash />
        )}
      </span>
      <span className="look-name">
        {label}
        <span className="quiet small">{t(hasFile ? "look.there" : `look.${name}.none`)}</span>
      </span>
      {!branding.isShown(name) && <Badge>{t("look.waits")}</Badge>}
      {mayChange && (
        <span className="row">
          <ChooseFile owner={owner} file={file} label={label} />
          {hasFile && <RemoveFile owner={owner} file={file} label={label} />}
        </span>
      )}
    </li>
  )
}

const Dash = () => <span aria-hidden="true">–</span>

type FilePreviewProps = Pick<FileRowProps, "owner"> & {
  readonly kind: BrandingFileKind
  readonly label: string
}

function FilePreview({ owner, kind, label }: FilePreviewProps) {
  const address = useBrandingFile(owner, kind)
  return address ? <img src={address} alt={label} /> : <Dash />
}

type FileActionProps = Pick<FileRowProps, "owner" | "file"> & { readonly label: string }

function ChooseFile({ owner, file, label }: FileActionProps) {
  const { kind, accept } = file
  const action = useAction((sent: File) => uploadBrandingFile(owner, kind, sent))
  return (
    <>
      <FileButton
        label={t("look.choose")}
        name={label}
        accept={accept}
        busy={action.busy}
        small
        onFile={action.run}
      />
      <RefusalAlert refusal={action.refusal} />
    </>
  )
}

function RemoveFile({ owner, file, label }: FileActionProps) {
  const action = useAction(() => removeBrandingFile(owner, file))
  return (
    <>
      <Button
        small
        kind="plain"
        disabled={action.busy}
        aria-label={`${label}: ${t("look.remove")}`}
        onClick={() => action.run()}
      >
        {t("look.remove")}
      </Button>
      <RefusalAlert refusal={action.refusal} />
    </>
  )
}
