export { CodeArea } from "./code-area.tsx"
export {
  ActionButton,
  ActivationButton,
  ConfirmButton,
  DeleteButton,
  DeleteSection,
} from "./confirm.tsx"
export { ContestedField } from "./conflict.tsx"
export { type Controls, createControls, verbatim } from "./controls.tsx"
export { DialogOpener } from "./dialog-opener.tsx"
export {
  type Amount,
  amountFromDuration,
  durationFromAmount,
  formatDuration,
  toAmount,
} from "./duration.ts"
export { DurationField } from "./duration-field.tsx"
export { FileButton } from "./file-button.tsx"
export { DialogForm, EditSection, FormFields } from "./form.tsx"
export { DialogButton, defineForm, type RenderForm } from "./form-of.tsx"
export { linesOf, namesIn } from "./lines.ts"
export { isSame, lineList, wordList } from "./merge.ts"
export { formatOptions, OrderedSelect } from "./ordered-select.tsx"
export { renameRow } from "./rename.tsx"
export { SearchForm } from "./search-form.tsx"
export { SelectSetting } from "./select-setting.tsx"
export { Switch } from "./switch.tsx"
export { type Form, useForm } from "./use-form.ts"
export { formId, useOpenForm } from "./use-open.ts"
