{{/* Labels of every object. */}}
{{- define "attache.labels" -}}
app.kubernetes.io/name: attache
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "attache.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* All controllers: the default one, and those for some GatewayClasses. Each has a name, Pods, a Lease and a Service. */}}
{{- define "attache.controllers" -}}
- name: attache
  component: controller
  replicas: {{ .Values.replicas }}
{{- range .Values.classControllers }}
- name: attache-{{ .name }}
  component: controller-{{ .name }}
  replicas: {{ .replicas | default $.Values.replicas }}
  gatewayClasses:
    {{- toYaml .gatewayClasses | nindent 4 }}
  {{- with .resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
