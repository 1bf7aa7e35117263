{{/* Names, labels and checks that several templates share. */}}

{{- define "millrace.name" -}}
{{- if contains "millrace" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-millrace" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "millrace.selector" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .Release.Name }}
millrace.dev/server: {{ include "millrace.name" . }}
{{- end }}

{{- define "millrace.labels" -}}
{{ include "millrace.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "millrace.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "millrace.name" .) }}
{{- end }}

{{- define "millrace.workerUrl" -}}
{{- .Values.workerUrl | default (printf "http://%s.%s.svc:%v" (include "millrace.name" .) .Release.Namespace .Values.service.port) }}
{{- end }}

{{- define "millrace.host" -}}
{{- (urlParse .Values.publicUrl).host | splitList ":" | first }}
{{- end }}

{{/* Fails with a sentence where two values do not fit together. The schema checks each alone. */}}
{{- define "millrace.check" -}}
{{- $same := eq .Values.instances.namespace .Release.Namespace }}
{{- $classes := or .Values.volumes.storageClass .Values.volumes.sharedClass }}
{{- if gt (len (compact (list .Values.volumes.claim .Values.volumes.nfs.server $classes))) 1 }}
{{- fail "volumes: set one of claim, nfs, or storage classes" }}
{{- end }}
{{- if and $classes .Values.instances.perAccount }}
{{- fail "volumes: storage classes need all instances in one namespace, without perAccount" }}
{{- end }}
{{- if and .Values.volumes.claim (or .Values.instances.perAccount (not $same)) }}
{{- fail (printf "volumes.claim: servers and instances mount the same claim, so instances.namespace must be the namespace of the release (%s), without perAccount; or use volumes.nfs" .Release.Namespace) }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.publicUrl) }}
{{- fail "ingress.enabled needs publicUrl, whose host it serves" }}
{{- end }}
{{- if and .Values.ingress.tls.wildcardSecretName (not .Values.domain) }}
{{- fail "ingress.tls.wildcardSecretName needs domain" }}
{{- end }}
{{- end }}
