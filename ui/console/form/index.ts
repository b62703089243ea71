export { CodeArea } from "./code-area.tsx"
export {
  ActionButton,
  ActivationButton,
  ConfirmButton,
  DeleteButton,
  DeleteSection,
} from "./confirm.tsx"
export { Contested } from "./conflict.tsx"
export { type Controls, controlsOf, verbatim } from "./controls.tsx"
export { DialogOpener } from "./dialog-opener.tsx"
export { type Amount, amountIn, amountOf, durationOf, durationText } from "./duration.ts"
export { DurationField } from "./duration-field.tsx"
export { FileButton } from "./file-button.tsx"
export { DialogForm, EditSection, Fields } from "./form.tsx"
export { DialogButton, formOf, type RenderForm } from "./form-of.tsx"
export { linesOf, namesIn } from "./lines.ts"
export { isSame, lineList, wordList } from "./merge.ts"
export { namesBy, OrderedSelect } from "./ordered-select.tsx"
export { renamed } from "./rename.tsx"
export { SearchForm } from "./search-form.tsx"
export { SelectSetting } from "./select-setting.tsx"
export { Switch } from "./switch.tsx"
export { type Form, useForm } from "./use-form.ts"
export { formId, useOpen } from "./use-open.ts"
