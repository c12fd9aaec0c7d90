{{- define "muster.prefix" -}}
{{ .Values.prefix | default "muster" }}
{{- end }}

{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ include "muster.prefix" . }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The file as it was given. */}}
{{- define "muster.given" -}}
{{ mergeOverwrite (fromYaml .Values.configFile) .Values.config | toYaml }}
{{- end }}

{{- /* A duration as the file has them ("1m30s") in milliseconds. */}}
{{- define "muster.milliseconds" -}}
{{- $units := dict "h" 3600000.0 "m" 60000.0 "s" 1000.0 "ms" 1.0 }}
{{- $sum := 0.0 }}
{{- range regexFindAll "[0-9.]+[a-z]+" . -1 }}
{{- $sum = addf $sum (mulf (regexFind "[0-9.]+" . | float64) (get $units (regexFind "[a-z]+" .) | default 0.0)) }}
{{- end }}
{{- $sum | int64 }}
{{- end }}

{{- /* As long as its end may take (ending_patience in apps/operator/operator.cpp): a write without an answer may come true for as
long as the Lease outlasts the last renewal, and the Lease is given back only then. Before that it sleeps for 3 s, and 3 s are to
spare. */}}
{{- define "muster.grace" -}}
{{- $election := (include "muster.given" . | fromYaml).leaderElection | default dict }}
{{- $lease := include "muster.milliseconds" ($election.leaseDuration | default "15s") | int64 }}
{{- $deadline := include "muster.milliseconds" ($election.renewDeadline | default "10s") | int64 }}
{{- $ending := max 8000 (add (sub $lease $deadline) 3000) }}
{{- max .Values.terminationGracePeriodSeconds (divf (add $ending 6000) 1000.0 | ceil | int64) }}
{{- end }}
